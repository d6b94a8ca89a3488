"""``layouts.html``: the layouts that were tried, on one page, with the choice and its reason."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup
from matplotlib.axes import Axes

from filmgate import __version__
from filmgate.app.page import page_environment
from filmgate.app.svg import Drawing, LegendEntry, Plot, colour, make_plot
from filmgate.prepare.choose import Outlook
from filmgate.prepare.layouts import Layouts
from filmgate.records import write_file
from filmgate.spec import Clip
from filmgate.units import counted, format_bytes, format_number, format_seconds

LAYOUTS_PAGE = "layouts.html"
LARGEST_SHARE_DRAWN = 1.1
"""Layouts that take more of the source's bytes stand in the table alone."""
COLUMNS = (
    "layout", "verdict", "of the bytes", "clips per CPU-s", "as YUV", "PSNR, dB", "SSIM",
    "per hour of video", "CPU to make it", "whole set", "CPU to make it all", "cores", "storage",
    "pays from",
)  # fmt: skip


def write_layouts_page(path: Path, layouts: Layouts) -> None:
    """Write the page, in one step."""
    plot = layouts_plot(layouts)
    page = (
        page_environment()
        .get_template("layouts.html.jinja")
        .render(
            layouts=layouts,
            headline=headline(layouts),
            why=layouts.choice.why,
            columns=COLUMNS,
            rows=[
                (_kind(one, layouts), [Markup.escape(said) for said in row_of(one, layouts)])
                for one in layouts.choice.outlooks
            ],
            why_not=[
                (one.trial.label, one.why_not) for one in layouts.choice.outlooks if one.why_not
            ],
            plot=plot,
            facts=_facts(layouts),
            version=__version__,
        )
    )
    write_file(path, page.encode(errors="backslashreplace"))


def headline(layouts: Layouts) -> str:
    """What was chosen, in a few words."""
    label = layouts.choice.label
    if label is None:
        return "No copy keeps the limits"
    return "The videos as they are" if label == "source" else label


def row_of(outlook: Outlook, layouts: Layouts) -> list[str]:
    """One layout as cells, in the order of ``COLUMNS``; unknown is an empty cell."""
    trial = outlook.trial
    likeness = trial.likeness
    exact = likeness is not None and likeness.psnr_db is None
    psnr = "" if likeness is None or likeness.psnr_db is None else f"{likeness.psnr_db:.1f}"
    hour = trial.encode_cpu_seconds_per_hour
    making = outlook.encode_core_hours
    pays = outlook.pays_from_clips
    return [
        trial.label,
        short_verdict(outlook, layouts),
        _figure(trial.size_share, "{:.2f}"),
        _figure(trial.clips_per_cpu_second, "{:.3g}"),
        _figure(trial.clips_per_cpu_second_yuv, "{:.3g}"),
        "exact" if exact else psnr,
        "" if likeness is None else f"{likeness.ssim:.4f}",
        "" if trial.bytes_per_hour is None else format_bytes(trial.bytes_per_hour),
        "" if hour is None else format_seconds(hour),
        "" if outlook.bytes is None else format_bytes(outlook.bytes),
        format_seconds(3600 * making) if making else "",
        _figure(outlook.cores_for_demand, "{:.1f}"),
        outlook.storage_class or "",
        "" if pays is None else f"{pays:,} clips",
    ]


def clip_words(clip: Clip) -> str:
    """``8 frames, stride 4, 456x256``."""
    if clip.sampling == "uniform":
        steps = "spread over the video"
    elif clip.fps is not None:
        steps = f"{clip.fps:g} a second"
    else:
        steps = f"stride {clip.stride or 1}"
    return f"{counted(clip.frames, 'frame')}, {steps}, {clip.width}x{clip.height}"


def layouts_plot(layouts: Layouts) -> Plot | None:
    """Clips per CPU-second over share of the bytes; None when nothing could be measured."""
    measured = [
        one for one in layouts.choice.outlooks
        if one.trial.clips_per_cpu_second is not None and one.trial.size_share is not None
    ]  # fmt: skip
    drawn = [one for one in measured if (one.trial.size_share or 0) <= LARGEST_SHARE_DRAWN]
    if not drawn:
        return None
    speeds = [one.trial.clips_per_cpu_second or 0.0 for one in drawn]

    def draw(axes: Axes) -> None:
        """A dot for each layout, its closeness beside it."""
        for one, speed in zip(drawn, speeds, strict=True):
            share, role = one.trial.size_share or 0.0, _role(one, layouts)
            axes.plot(
                [share], [speed], marker="o", ms=9 if role == "delivered" else 6, lw=0,
                color=colour(role),
            )  # fmt: skip
            axes.annotate(
                _dot_words(one), (share, speed), xytext=(6, 3), textcoords="offset points",
                fontsize=10, color=colour("soft"),
            )  # fmt: skip
        axes.axvline(layouts.needs.largest_size_share, color=colour("soft"), lw=1, dashes=(2, 2))
        axes.set_ylim(0, 1.12 * max(speeds))

    entries = tuple(
        LegendEntry(label=label, role=role, shape="dot")
        for label, role in (
            ("chosen", "delivered"), ("within the limits", "optimizer"),
            ("outside", "supply"), ("the videos as they are", "demand"),
        )
        if any(_role(one, layouts) == role for one in drawn)
    )  # fmt: skip
    drawing = Drawing(
        name="layouts",
        title="Clips per CPU-second over the share of the source's bytes",
        steps=(0, LARGEST_SHARE_DRAWN + 0.15),
        x_label="share of the source's bytes",
        whole_x=False,
        y_label="clips per CPU-second, RGB",
        draw=draw,
    )
    return make_plot(drawing, _caption(measured, drawn, layouts), entries)


def _caption(measured: list[Outlook], drawn: list[Outlook], layouts: Layouts) -> str:
    away = [one.trial.label for one in measured if one not in drawn]
    said = (
        "Up and to the left is better; beside each dot its closeness to the scaled source; the "
        f"line is the largest share allowed, {layouts.needs.largest_size_share:g}"
    )
    if away:
        said += f"; too large to be drawn: {', '.join(away)}"
    return said + "."


def _role(outlook: Outlook, layouts: Layouts) -> str:
    if outlook.trial.label == layouts.choice.label:
        return "delivered"
    if outlook.trial.recipe is None:
        return "demand"
    return "optimizer" if outlook.why_not is None else "supply"


def _kind(outlook: Outlook, layouts: Layouts) -> str:
    if outlook.trial.label == layouts.choice.label:
        return "chosen"
    return "" if outlook.why_not is None else "outside"


def _dot_words(outlook: Outlook) -> str:
    recipe, likeness = outlook.trial.recipe, outlook.trial.likeness
    if recipe is None or likeness is None:
        return "source"
    closeness = "exact" if likeness.psnr_db is None else f"{likeness.psnr_db:.0f}"
    return f"{recipe.layout.codec} {closeness}"


def short_verdict(outlook: Outlook, layouts: Layouts) -> str:
    """Chosen, or the limits that it breaks, in a word each."""
    if outlook.broken:
        return f"not: {', '.join(outlook.broken)}"
    if outlook.why_not is not None:
        return "failed"
    return "chosen" if outlook.trial.label == layouts.choice.label else ""


def _figure(value: float | None, form: str) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else form.format(value)


def _facts(layouts: Layouts) -> list[tuple[str, str]]:
    needs, sample = layouts.needs, layouts.sample
    tried = min(sample.num_videos, layouts.num_videos)
    return [
        ("clips", clip_words(layouts.clip)),
        ("tried on", f"{counted(tried, 'video')}, about {format_seconds(sample.seconds)} of each"),
        ("the whole set", f"{counted(layouts.num_videos, 'video')}, "
         f"{format_seconds(layouts.video_seconds)}, {format_bytes(layouts.source_bytes)}"),
        ("clips to be read", "any number" if needs.clips is None else f"{needs.clips:,}"),
        ("demand", "not told" if needs.clips_per_second is None
         else f"{format_number(needs.clips_per_second, 6)} clips/s on {needs.cores} cores"),
        ("limits", f"{needs.lowest_psnr_db:g} dB or more, {needs.largest_size_share:g} times the "
         "source's bytes or less"
         + ("" if needs.bytes_free is None else f", {format_bytes(needs.bytes_free)} free")),
        *(("mind", remark) for remark in layouts.remarks),
        ("machine", layouts.machine),
        ("measured", f"{layouts.header.created_at}, in {format_seconds(layouts.seconds)}"),
    ]  # fmt: skip

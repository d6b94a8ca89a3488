"""The comparison as JSON, as a page of tables, and as a picture."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap

import msgspec
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.machine import ROOT, kind_of
from benchmarks.peer_readers.lines import fastest
from benchmarks.peer_readers.result import Judged, PeersReport, ReaderResult, RowResult
from filmgate.records import write_file
from filmgate.units import format_bytes, format_seconds

REPORTS = ROOT / "benchmarks" / "reports"
WORDS = {True: "holds", False: "MISSES", None: "not measured"}
OURS_COLOUR, OTHERS_COLOUR, MISS_COLOUR = "#2a6fbb", "#b9bec6", "#c0392b"
LOGARITHMIC_FROM = 20.0
"""Where the fastest is so many times the slowest, a panel's axis is logarithmic."""


def write_reports(report: PeersReport, folder: Path = REPORTS) -> list[Path]:
    """Paths of the three files, named after machine, day and time: each run has its own."""
    begun = report.header.created_at[:16].replace(":", "")
    stem = folder / f"peers_{kind_of(report.machine)}_{begun}"
    content = {
        ".json": msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n",
        ".md": page(report, stem.with_suffix(".svg").name).encode(),
    }
    paths = []
    for suffix, data in content.items():
        paths.append(stem.with_suffix(suffix))
        write_file(paths[-1], data)
    paths.append(stem.with_suffix(".svg"))
    draw(report, paths[-1])
    return paths


def page(report: PeersReport, picture: str) -> str:
    """The page as Markdown."""
    machine = report.machine
    lines = [
        "# filmgate beside other readers of video",
        "",
        f"{report.header.created_at[:10]}, {machine.cores} cores of {machine.cpu}, "
        f"{format_bytes(machine.memory_bytes)} memory, {machine.kernel}; "
        f"commit {report.software.commit}. {report.size.capitalize()} run, "
        f"{format_seconds(report.seconds)}.",
        "",
        f"Medians of {report.rounds} rounds, in brackets the lowest and the highest (filmgate has "
        "more samples: it is measured before and after every other package). A ratio is filmgate's "
        "rate over the other's, each time from samples taken side by side: above 1, filmgate is "
        "faster. It is held against the fastest form of the other that gave the right frames. "
        "Clips have 16 frames, stride 4, 456x256. One thread for each reader. `opened`: the "
        "decoder is opened for every clip; `kept`: it stays open.",
        "",
        *_table(
            ["what is read", "against", "figure", "bar", "aim", ""],
            [_line_row(line) for line in report.lines],
        ),
        "",
        f"![rates]({picture})",
    ]
    for row in report.rows:
        lines += ["", f"## {row.name}: {row.says}", "", *_row_page(row)]
    lines += ["", "## Frames", "", *_frames(report)]
    versions = {k: v for row in report.rows for one in row.others for k, v in one.versions.items()}
    versions = dict(report.software.packages) | versions
    lines += ["", "## Versions", ""]
    lines += ["ffmpeg " + (report.software.ffmpeg or "not installed") + ", "]
    lines[-1] += ", ".join(f"{name} {version}" for name, version in sorted(versions.items())) + "."
    return "\n".join(lines) + "\n"


def say_line(line: Judged) -> str:
    """``holds  name: 1.72 times torchcodec exact, kept (1.69 to 1.75; bar 1.6, aim 1.9)``."""
    return f"{WORDS[line.holds]:12} {line.name}: {figure_of(line)}; bar {line.bar:g}"


def figure_of(line: Judged) -> str:
    """The figure with its spread, or why there is none."""
    if line.figure is None:
        return f"no figure: {line.why_not}"
    against = f" times {line.against}" if line.against else ""
    broken = f"; {line.why_not}" if line.why_not else ""
    return f"{line.figure:.3g}{against} ({line.lowest:.3g} to {line.highest:.3g}){broken}"


def _line_row(line: Judged) -> list[str]:
    figure = f"not measured: {line.why_not}"
    if line.figure is not None:
        figure = f"{line.figure:.3g} ({line.lowest:.3g} to {line.highest:.3g})"
        figure += f"; {line.why_not}" if line.why_not else ""
    word = WORDS[line.holds] + (", reaches the aim" if line.reaches_aim else "")
    return [line.says, line.against or "", figure, f"{line.bar:g}", f"{line.aim:g}", word]


def _row_page(row: RowResult) -> list[str]:
    readers = sorted([*row.ours, *row.others], key=lambda one: -(one.median or 0.0))
    best, left_out = fastest(row.others)
    lines = _table(
        [
            "reader", "a sample", row.unit, "lowest to highest",
            *(f"{one.label} / it" for one in row.ours if row.others),
            "memory", "others' cores",
        ],
        [_reader_row(row, one) for one in readers],
    )  # fmt: skip
    lines += ["", f"Load average {row.load_before:.2f} before and {row.load_after:.2f} after."]
    if best is not None:
        lines[-1] += f" Fastest other with the right frames: {best.label}."
    lines += [f"- left out, {label}: {why}" for label, why in left_out.items()]
    return lines


def _reader_row(row: RowResult, one: ReaderResult) -> list[str]:
    is_ours = any(one is mine for mine in row.ours)
    span = f"{min(one.samples):.3g} to {max(one.samples):.3g}" if one.samples else ""
    ratios = [one.ratio(mine.label) for mine in row.ours if row.others]
    return [
        f"**{one.label}**" if is_ours else one.label,
        row.amounts[one.label],
        _rate(one),
        span,
        *("" if ratio is None else f"{ratio:.3g}" for ratio in ratios),
        "" if one.peak_rss_bytes is None else format_bytes(one.peak_rss_bytes),
        "" if one.others_cores is None else f"{one.others_cores:.2f}",
    ]


def _rate(one: ReaderResult) -> str:
    if one.median is None:
        return one.why_not or "not measured"
    return f"{one.median:.3g}" + (f" (and once: {one.why_not})" if one.why_not else "")


def _frames(report: PeersReport) -> list[str]:
    rows = []
    for layout, checks in report.frames.items():
        for reader, found in checks.items():
            if isinstance(found, str):
                rows.append([layout, reader, found, "", "", ""])
                continue
            numbers = [str(found.frames), str(found.wrong), str(found.far)]
            rows.append([layout, reader, *numbers, f"{found.mean_difference:.2f}"])
    names = ["layout", "reader", "frames", "wrong", "unlike", "mean difference of 255"]
    return [
        "Against filmgate's frames: `wrong` is nearer to a neighbour than to the frame asked for, "
        "`unlike` is near to none. Readers scale and convert a little differently. The control "
        "says how many frames one place off this finds: still pictures cannot be told apart.",
        "",
        *_table(names, rows),
    ]


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines]


def draw(report: PeersReport, path: Path) -> None:
    """The promised lines, then one panel for each row that was measured, filmgate in blue."""
    rows = [row for row in report.rows if any(one.samples for one in row.ours)]
    lines = [line for line in report.lines if line.figure is not None]
    sizes = [len(lines), *(len(row.ours) + len(row.others) for row in rows)]
    heights = [1.0 + 0.24 * size for size in sizes]
    figure = Figure(figsize=(9, sum(heights)), layout="constrained")
    panels = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    _draw_lines(panels[0], lines)
    for row, panel in zip(rows, panels[1:], strict=True):
        _draw_row(panel, row)
    figure.savefig(path, metadata={"Date": None})


def _draw_lines(panel: Axes, lines: list[Judged]) -> None:
    """Each figure in units of its bar."""
    shown = lines[::-1]
    values = [(line.figure or 0.0) / line.bar for line in shown]
    errors = [
        [((line.figure or 0.0) - (line.lowest or 0.0)) / line.bar for line in shown],
        [((line.highest or 0.0) - (line.figure or 0.0)) / line.bar for line in shown],
    ]
    colours = [OURS_COLOUR if line.holds else MISS_COLOUR for line in shown]
    names = [f"{line.name}: {line.figure:.3g} of {line.bar:g}" for line in shown]
    panel.barh(names, values, xerr=errors if shown else None, color=colours, error_kw={"lw": 0.8})
    panel.plot([line.aim / line.bar for line in shown], names, "|", color="black", markersize=9)
    panel.axvline(1.0, color="black", lw=0.8)
    _dress(panel, "promises, in units of the bar (line); the aim is a tick")


def _draw_row(panel: Axes, row: RowResult) -> None:
    readers = [one for one in (*row.ours, *row.others) if one.median is not None]
    readers.sort(key=lambda one: one.median or 0.0)
    values = [one.median or 0.0 for one in readers]
    errors = [
        [value - min(one.samples) for value, one in zip(values, readers, strict=True)],
        [max(one.samples) - value for value, one in zip(values, readers, strict=True)],
    ]
    is_ours = [any(one is mine for mine in row.ours) for one in readers]
    colours = [OURS_COLOUR if mine else OTHERS_COLOUR for mine in is_ours]
    names = [one.label for one in readers]
    panel.barh(names, values, xerr=errors, color=colours, error_kw={"lw": 0.8})
    if values[-1] > LOGARITHMIC_FROM * values[0]:
        panel.set_xscale("log")
    _dress(panel, f"{row.says}: {row.unit}")


def _dress(panel: Axes, title: str) -> None:
    panel.set_title("\n".join(wrap(title, 110)), fontsize=9, loc="left")
    panel.tick_params(labelsize=7)
    panel.spines[["top", "right"]].set_visible(False)

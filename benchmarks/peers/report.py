"""The comparison as JSON, as a page of tables, and as a picture."""

from __future__ import annotations

from pathlib import Path

import msgspec
from matplotlib.figure import Figure

from benchmarks.machine import ROOT, kind_of
from benchmarks.peers.result import PeersReport, ReaderResult, RowResult
from filmgate.records import write_file
from filmgate.units import format_bytes

REPORTS = ROOT / "benchmarks" / "reports"
WORDS = {True: "holds", False: "MISSES", None: "not judged"}
OURS_COLOUR, OTHERS_COLOUR = "#2a6fbb", "#b9bec6"


def write_reports(report: PeersReport, folder: Path = REPORTS) -> list[Path]:
    """Paths of the three files, named after machine and day."""
    day = report.header.created_at[:10]
    stem = folder / f"peers_{kind_of(report.machine)}_{day}"
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
        f"commit {report.software.commit}.",
        "",
        f"Medians of {report.rounds} rounds (filmgate has more samples: it is measured before and "
        "after every other package). A ratio is filmgate's rate over the other's, each time from "
        "samples taken side by side: above 1, filmgate is faster. One thread for each reader. "
        "`opened`: the decoder is opened for every clip; `kept`: it stays open.",
        "",
        *_table(
            ["what is read", "filmgate", "fastest other", "ratio", "bar", ""],
            [_summary_row(row) for row in report.rows],
        ),
        "",
        f"![rates]({picture})",
    ]
    for row in report.rows:
        lines += ["", f"## {row.name}: {row.says}", "", f"{row.clips} {_per_sample(row)}.", ""]
        readers = sorted([row.ours, *row.others], key=lambda one: -(one.median or 0.0))
        lines += _table(
            ["reader", row.unit, "lowest to highest", "filmgate / it", "memory"],
            [_reader_row(one, is_ours=one is row.ours) for one in readers],
        )
    lines += ["", "## Frames", "", *_frames(report)]
    versions = {k: v for row in report.rows for one in row.others for k, v in one.versions.items()}
    versions = dict(report.software.packages) | versions
    lines += ["", "## Versions", ""]
    lines += ["ffmpeg " + (report.software.ffmpeg or "not installed") + ", "]
    lines[-1] += ", ".join(f"{name} {version}" for name, version in sorted(versions.items())) + "."
    return "\n".join(lines) + "\n"


def _per_sample(row: RowResult) -> str:
    return "clips of 16 frames, stride 4, 456x256, in each sample"


def _summary_row(row: RowResult) -> list[str]:
    fastest = next((one for one in row.others if one.reader == row.fastest), None)
    bar = "" if row.bar is None else f"> {row.bar:g}"
    return [
        f"{row.says} ({row.unit})",
        _rate(row.ours),
        "none measured" if fastest is None else f"{fastest.reader}: {_rate(fastest)}",
        "" if row.ratio is None else f"{row.ratio:.2f}",
        bar,
        WORDS[row.holds],
    ]


def _reader_row(one: ReaderResult, *, is_ours: bool) -> list[str]:
    span = f"{min(one.samples):.3g} to {max(one.samples):.3g}" if one.samples else ""
    memory = "" if one.peak_rss_bytes is None else format_bytes(one.peak_rss_bytes)
    ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
    return [f"**{one.reader}**" if is_ours else one.reader, _rate(one), span, ratio, memory]


def _rate(one: ReaderResult) -> str:
    return f"{one.median:.3g}" if one.median is not None else (one.why_not or "not measured")


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
        "`unlike` is near to none. Readers scale and convert a little differently.",
        "",
        *_table(names, rows),
    ]


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines]


def draw(report: PeersReport, path: Path) -> None:
    """One panel for each row that was measured, filmgate in blue."""
    rows = [row for row in report.rows if row.ours.median is not None and row.others]
    heights = [1.0 + 0.24 * (1 + len(row.others)) for row in rows] or [1.0]
    figure = Figure(figsize=(8, sum(heights)), layout="constrained")
    panels = figure.subplots(max(1, len(rows)), 1, squeeze=False, height_ratios=heights)[:, 0]
    for row, panel in zip(rows, panels, strict=False):
        readers = [one for one in (row.ours, *row.others) if one.median is not None]
        readers.sort(key=lambda one: one.median or 0.0)
        names = [one.reader for one in readers]
        values = [one.median or 0.0 for one in readers]
        errors = [
            [value - min(one.samples) for value, one in zip(values, readers, strict=True)],
            [max(one.samples) - value for value, one in zip(values, readers, strict=True)],
        ]
        colours = [OURS_COLOUR if one is row.ours else OTHERS_COLOUR for one in readers]
        panel.barh(names, values, xerr=errors, color=colours, error_kw={"lw": 0.8})
        panel.set_title(f"{row.says}: {row.unit}", fontsize=9, loc="left")
        panel.tick_params(labelsize=7)
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})

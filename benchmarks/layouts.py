"""Which layout `filmgate prepare` chooses for the benchmark's videos, and what the copy is worth.

    python -m benchmarks.layouts [--quick] [--rounds N] [--python PYTHON]

Layouts are tried on the 12 videos of ``benchmarks.footage`` (1280x720, key frames far apart) with
clips of 16 frames, stride 4, 456x256. The chosen copy is made of all of them, and beside it a plain
one: H.264 without B-frames, a key frame every 16 frames, of the lowest CRF whose PSNR is no better
than the chosen copy's. Then filmgate on the chosen copy and torchcodec on the source and on the
plain copy read random clips in turns, one thread and one process each, in processor time; every
reader is warmed up. A line is judged against the fastest form of torchcodec, by the median of the
rounds' ratios; the report has every sample. torchcodec comes from ``make peers``. About 10 minutes
on two cores, with ``--quick`` 5.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from benchmarks.footage import CACHE, CLIP_SIZE, recipe_digest, videos
from benchmarks.layouts_report import Judged, LayoutsReport, Reading, say, write_reports
from benchmarks.machine import ROOT, this_machine, this_software
from benchmarks.peer_readers.clips import CLIP_FRAMES, STRIDE
from benchmarks.peer_readers.process import ReaderProcess
from benchmarks.peer_readers.readers import OURS, OURS_YUV
from benchmarks.peer_readers.rows import Size, ask_of
from benchmarks.peer_readers.task import Ask, Entry, Setup
from benchmarks.peers import peers_python
from filmgate.app.prepare import Wish, copy_with_progress, measure_catalog
from filmgate.app.terminal import Talk
from filmgate.catalog import Catalog, index_videos, open_catalog
from filmgate.errors import UserError
from filmgate.prepare.copies import Prepared
from filmgate.prepare.layouts import Layouts
from filmgate.prepare.measure import SampleSize, Trial
from filmgate.prepare.recipe import Recipe
from filmgate.records import Header
from filmgate.spec import Clip, Job

CLIP = Clip(
    frames=CLIP_FRAMES, stride=STRIDE, width=CLIP_SIZE[0], height=CLIP_SIZE[1], crop="centre",
    flip=False,
)  # fmt: skip
QUICK_SAMPLE = SampleSize(num_videos=3, seconds=6.0, rounds=1, clips_per_round=4, round_seconds=0.4)
FORMS = ("torchcodec approximate, kept", "torchcodec exact, kept", "torchcodec approximate, opened")
RGB, YUV = "filmgate, chosen copy, RGB", "filmgate, chosen copy, YUV"
FAST = 12.0
"""Clips from a copy over clips from the source in one sample."""


def main(arguments: Sequence[str]) -> int:
    """Exit code 0: measured, whatever holds; 1: a line has no figure; 2: bad arguments."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.layouts")
    parser.add_argument("--quick", action="store_true", help="a smaller sample, fewer rounds")
    parser.add_argument("--rounds", type=int, help="samples of each reader; 3 quick, 5 full")
    parser.add_argument("--python", help="Python that has torchcodec; none: .venv-peers")
    options = parser.parse_args(arguments)
    rounds = options.rounds or (3 if options.quick else 5)
    try:
        report = measure(options.python or peers_python(), quick=options.quick, rounds=rounds)
    except UserError as error:
        print(f"error: {error}\nhint: {error.hint}", file=sys.stderr)
        return 2
    paths = [str(path.relative_to(ROOT)) for path in write_reports(report)]
    for line in report.lines:
        print(say(line), file=sys.stderr)
    figures = {line.name: line.figure for line in report.lines}
    holds = {line.name: line.holds for line in report.lines}
    print(msgspec.json.encode({"reports": paths, "figures": figures, "holds": holds}).decode())
    return 1 if None in figures.values() else 0


def measure(python: str, *, quick: bool, rounds: int) -> LayoutsReport:
    """Try the layouts, make the copies, read from them. Raises UserError without a usable copy."""
    header, began, load = _header(), time.monotonic(), os.getloadavg()[0]
    folder, talk = CACHE.parent / "layouts" / recipe_digest(), Talk()
    paths = [path.resolve() for path in videos("source")]
    source = index_videos(paths, folder / "source", labels=None, workers=0)
    layouts = measure_catalog(
        source, folder / "chosen", Job(clip=CLIP), Wish(sample=QUICK_SAMPLE if quick else None),
        talk,
    )  # fmt: skip
    chosen = layouts.recipe
    if chosen is None:
        raise UserError(layouts.choice.why, hint="see build/layouts for the table")
    copy = copy_with_progress(source, folder / "chosen", chosen, talk)
    plain = _copy_plainly(source, folder / "plain", layouts, copy, talk)
    readings = _read(python, folder, chosen, rounds, "quick" if quick else "full")
    return LayoutsReport(
        header=header,
        machine=this_machine(),
        software=this_software(),
        size="quick" if quick else "full",
        rounds=rounds,
        seconds=time.monotonic() - began,
        load=[load, os.getloadavg()[0]],
        layouts=layouts,
        chosen=_without_place(copy),
        plain=_without_place(plain),
        readings=readings,
        lines=judge(copy, readings),
    )


def _without_place(copy: Prepared) -> Prepared:
    """For a report that names no folder of this machine."""
    return msgspec.structs.replace(copy, folder=str(Path(copy.folder).relative_to(ROOT)))


def judge(copy: Prepared, readings: Sequence[Reading]) -> list[Judged]:
    """The promises, each with its figure; None where a reader gave none."""
    share, psnr_db = copy.bytes / copy.source_bytes, copy.likeness.psnr_db
    return [
        Judged(name="bytes", says="bytes of the chosen copy over the source's", figure=share,
               bar=0.7, at_most=True),
        Judged(name="psnr", says="dB of the chosen copy to the scaled source",
               figure=float("inf") if psnr_db is None else psnr_db, bar=38.0),
        Judged(name="rgb", says="RGB clips per CPU-second over torchcodec's on the source",
               figure=_ratio(readings, RGB, "source"), bar=30.0, aim=50.0),
        Judged(name="yuv", says="YUV clips per CPU-second over torchcodec's on the source",
               figure=_ratio(readings, YUV, "source"), bar=40.0, aim=50.0),
        Judged(name="plain", says="RGB clips per CPU-second over torchcodec's on a plain copy",
               figure=_ratio(readings, RGB, "plain"), bar=1.6),
    ]  # fmt: skip


def _ratio(readings: Sequence[Reading], ours: str, on: str) -> float | None:
    """Median over the rounds, against the fastest form of torchcodec of each round."""
    mine = next(one for one in readings if one.label == ours)
    others = [one.rounds for one in readings if one.on == on and one.label != ours]
    by_round = zip(*others, strict=True)
    best = [max((rate for rate in rates if rate), default=None) for rates in by_round]
    pairs = [(a, b) for a, b in zip(mine.rounds, best, strict=True) if a and b]
    return statistics.median(a / b for a, b in pairs) if pairs else None


def _copy_plainly(
    source: Catalog, folder: Path, layouts: Layouts, chosen: Prepared, talk: Talk
) -> Prepared:
    """The first H.264 copy of short GOPs, from high quality down, that is no better than ours."""
    start = _finer_than_chosen(layouts)
    for quality in range(start.layout.quality, 52):
        layout = msgspec.structs.replace(start.layout, quality=quality)
        plain = copy_with_progress(
            source, folder, msgspec.structs.replace(start, layout=layout), talk
        )
        if (plain.likeness.psnr_db or 100.0) <= (chosen.likeness.psnr_db or 100.0):
            break
    return plain


def _finer_than_chosen(layouts: Layouts) -> Recipe:
    """Of the H.264 copies of short GOPs that are better than the chosen one, the nearest."""
    chosen = layouts.choice.chosen
    assert chosen is not None
    wanted_db = _psnr_db(chosen.trial)
    tried = [
        one.trial for one in layouts.choice.outlooks
        if one.trial.recipe is not None and one.trial.recipe.layout.name == "short-gop"
        and one.trial.recipe.layout.codec == "h264" and _psnr_db(one.trial) >= wanted_db
    ]  # fmt: skip
    if not tried:
        raise UserError("no H.264 encoder works here", hint="the comparison needs libx264")
    recipe = min(tried, key=_psnr_db).recipe
    assert recipe is not None
    return recipe


def _psnr_db(trial: Trial) -> float:
    likeness = trial.likeness
    return 100.0 if likeness is None or likeness.psnr_db is None else likeness.psnr_db


def _read(python: str, folder: Path, chosen: Recipe, rounds: int, size_name: str) -> list[Reading]:
    spacing = chosen.layout.reference_every
    every = spacing if STRIDE % spacing == 0 else 1
    readers = [
        (RGB, "chosen", Entry(label=RGB, reader=OURS, multiple_of=every, size=FAST)),
        (YUV, "chosen", Entry(label=YUV, reader=OURS_YUV, multiple_of=every, size=FAST)),
        *[(f"{form}, source", "source", Entry(label=form, reader=form)) for form in FORMS],
        *[
            (f"{form}, plain copy", "plain", Entry(label=form, reader=form, size=FAST))
            for form in FORMS
        ],
    ]
    clips = 5 if size_name == "quick" else 12
    size = Size(name=size_name, rounds=rounds, clips=clips, loader_clips=0, au_seconds=0.0,
                has_extras=False)  # fmt: skip
    rates: list[list[float | None]] = [[] for _ in readers]
    faults: list[str | None] = [None for _ in readers]
    with ExitStack() as stack:
        num_frames = open_catalog(folder / "chosen").num_frames.tolist()
        processes = [ReaderProcess(python, _setup(entry, folder / on)) for _, on, entry in readers]
        for process in processes:
            stack.callback(process.close)
        for number in range(rounds):
            for place, (_, _, entry) in enumerate(readers):
                answer = processes[place].ask(_within(ask_of(entry, size, number), num_frames))
                fault = answer.error or answer.missing
                faults[place] = faults[place] or fault
                seconds = answer.cpu_seconds
                rates[place].append(answer.clips / seconds if seconds and not fault else None)
            print(f"readers: round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return [
        Reading(label=label, on=on, rounds=rates[place], fault=faults[place])
        for place, (label, on, _) in enumerate(readers)
    ]


def _within(ask: Ask, num_frames: list[int]) -> Ask:
    """Without clips that go past the end: not all of the videos are of the full length."""
    clips = [clip for clip in ask.clips if clip.frames[-1] < num_frames[clip.video]]
    return msgspec.structs.replace(ask, clips=clips)


def _setup(entry: Entry, catalog_folder: Path) -> Setup:
    catalog: Catalog = open_catalog(catalog_folder)
    paths = [catalog.video(row).path for row in range(catalog.num_videos)]
    return Setup(entry=entry, paths=paths, catalog=str(catalog_folder), mappings="", stream=[])


def _header() -> Header:
    return Header(schema="filmgate.benchmark.layouts", schema_version=1)


if __name__ == "__main__":
    # The processes that stand still have to be ended, whatever ends this one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main(sys.argv[1:]))

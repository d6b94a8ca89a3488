"""A million videos cost no more than four, and indexing is as fast as listing packets."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from os import getloadavg
from pathlib import Path

from benchmarks.acceptance.check import Outcome, check, not_measured
from benchmarks.acceptance.place import Place, ffmpeg
from benchmarks.huge_catalog import NUM_VIDEOS, OpeningCost, opening_cost, write_huge_catalog
from filmgate.app.footage import demo_videos
from filmgate.catalog import index_videos

TOPIC = "Scale"
OPEN_BAR_SECONDS = 1.0
FIRST_BATCH_BAR_SECONDS = 3.0
MEMORY_BAR_BYTES = 300_000_000
POSITIONS = {"the start": 0, "the middle of epoch 1": NUM_VIDEOS // 2, "sample 10^12": 10**12}
TRIES = 3
ROUNDS = 5
INDEX_BAR = 1.0
LONG_MINUTES = 20
"""Length of the long file, made by joining a demo clip to itself."""


@check(
    name="million-videos",
    topic=TOPIC,
    line="A catalog of 1 000 000 videos opens at once, adds little memory to each process, and "
    "gives its first batch as fast at any position.",
    bar=f"opened in {OPEN_BAR_SECONDS:g} s, first batch in {FIRST_BATCH_BAR_SECONDS:g} s at each "
    f"position, under {MEMORY_BAR_BYTES // 10**6} MB more in each process",
)
def million_videos(place: Place) -> Outcome:
    for number, video in enumerate(demo_videos()):
        folder = place.folder / "videos" / ("odd" if number % 2 else "even")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(video, folder)
    small = index_videos(place.folder / "videos", place.folder / "small", workers=0)
    huge = write_huge_catalog(small, place.folder / "huge")
    plain = opening_cost(small.path, start_sample=0)
    details, costs = [], []
    for name, start in POSITIONS.items():
        best = min(
            (opening_cost(huge, start_sample=start) for _ in range(TRIES)),
            key=lambda cost: cost.first_batch_seconds,
        )
        costs.append(best)
        details.append(f"{name}: {_shown(best)}")
    details.append(f"for comparison, the {small.num_videos} videos alone: {_shown(plain)}")
    details.append(
        f"the fastest of {TRIES} fresh processes each, one worker; load {getloadavg()[0]:.1f}"
    )
    added = max(max(c.own_bytes, c.worker_bytes - plain.worker_bytes) for c in costs)
    opened = max(cost.open_seconds for cost in costs)
    first = max(cost.first_batch_seconds for cost in costs)
    return Outcome(
        figure=f"opened in {opened:.2f} s, first batch in {first:.2f} s, "
        f"{added / 1e6:.0f} MB added at most",
        holds=opened < OPEN_BAR_SECONDS
        and first < FIRST_BATCH_BAR_SECONDS
        and added < MEMORY_BAR_BYTES,
        details=tuple(details),
    )


def _shown(cost: OpeningCost) -> str:
    return (
        f"opened in {cost.open_seconds:.2f} s, first batch after {cost.first_batch_seconds:.2f} s "
        f"({cost.own_cpu_seconds:.1f} s of one core to the second), {cost.own_bytes / 1e6:.0f} MB "
        f"more in the training process, {cost.worker_bytes / 1e6:.0f} MB the whole worker"
    )


@check(
    name="index-files",
    topic=TOPIC,
    line="Indexing real files in one process is at least as fast as one `ffprobe -show_entries "
    "packet=pts,flags` for each of them.",
    bar=f"{INDEX_BAR:g} times its rate",
)
def index_of_files(place: Place) -> Outcome:
    if shutil.which("ffprobe") is None:
        return not_measured("no ffprobe on PATH")
    folders = [place.corpus / "real"] if place.corpus else []
    videos = [*demo_videos(), *(path for folder in folders for path in sorted(folder.iterdir()))]
    return _against_ffprobe(place, videos)


@check(
    name="index-long-file",
    topic=TOPIC,
    line=f"Indexing one file of {LONG_MINUTES} minutes is at least as fast as `ffprobe "
    "-show_entries packet=pts,flags` on it, in MP4 and in Matroska.",
    bar=f"{INDEX_BAR:g} times its rate",
)
def index_of_a_long_file(place: Place) -> Outcome:
    if shutil.which("ffprobe") is None:
        return not_measured("no ffprobe on PATH")
    source = next(path for path in demo_videos() if path.name == "bigbuckbunny.mp4")
    outcomes = []
    for suffix in ("mp4", "mkv"):
        path = place.folder / f"long.{suffix}"
        ffmpeg("-stream_loop", "-1", "-t", str(60 * LONG_MINUTES), "-i", source, "-an",
               "-c", "copy", path)  # fmt: skip
        outcomes.append(_against_ffprobe(place, [path]))
    return Outcome(
        figure="; ".join(outcome.figure for outcome in outcomes),
        holds=all(outcome.holds for outcome in outcomes),
        details=tuple(detail for outcome in outcomes for detail in outcome.details),
    )


def _against_ffprobe(place: Place, videos: Sequence[Path]) -> Outcome:
    """Turn about, by the clock; the caches of the kernel are warm for both after one round."""
    ours, theirs = [], []
    for number in range(ROUNDS + 1):
        theirs.append(_ffprobe_seconds(videos))
        ours.append(_index_seconds(videos, place.folder / f"{videos[0].name} {number}"))
    ratios = [other / own for other, own in zip(theirs[1:], ours[1:], strict=True)]
    ratio, files = statistics.median(ratios), f"{len(videos)} files"
    return Outcome(
        figure=f"{ratio:.2f} times ({files if len(videos) > 1 else videos[0].suffix})",
        holds=ratio >= INDEX_BAR,
        details=(
            f"{videos[0].name if len(videos) == 1 else files}: {min(ratios):.2f} to "
            f"{max(ratios):.2f} in {ROUNDS} rounds; {statistics.median(ours[1:]):.2f} s against "
            f"{statistics.median(theirs[1:]):.2f} s",
        ),
    )


def _index_seconds(videos: Sequence[Path], out: Path) -> float:
    """Seconds that indexing takes in a process that is there already."""
    program = (
        "import sys, time; from pathlib import Path; from filmgate.catalog import index_videos\n"
        "began = time.monotonic()\n"
        "index_videos([Path(p) for p in sys.argv[2:]], Path(sys.argv[1]), workers=0)\n"
        "print(time.monotonic() - began)"
    )
    command = [sys.executable, "-c", program, str(out), *map(str, videos)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)
    return float(done.stdout)


def _ffprobe_seconds(videos: Sequence[Path]) -> float:
    """Seconds that one ffprobe after the other takes to list the packets of the first picture."""
    began = time.monotonic()
    for path in videos:
        command = ["ffprobe", "-v", "error", "-select_streams", "V:0", "-show_entries",
                   "packet=pts,flags", "-of", "csv", str(path)]  # fmt: skip
        subprocess.run(command, capture_output=True, timeout=900, check=True)
    return time.monotonic() - began

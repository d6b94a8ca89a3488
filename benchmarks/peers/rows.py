"""The rows of the comparison: what is read, by whom, and what ratio filmgate has to reach."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.footage import NUM_VIDEOS, Layout
from benchmarks.peers.clips import VISIT_CLIPS, Clip, random_clips, random_visits
from benchmarks.peers.others import OTHERS
from benchmarks.peers.readers import CEILING, OURS, OURS_CACHE, OURS_YUV
from benchmarks.peers.task import Mode

SEED = 20
EVERYBODY = tuple(OTHERS)
FASTEST_FORMS = tuple(name for name in OTHERS if "torchcodec" not in name or name.endswith("kept"))
LOADER_FORMS = (
    OURS,
    "torchcodec approximate, kept",
    "torchcodec mapping, kept",
    "decord2, opened",
    "PyAV, opened",
    "OpenCV, kept",
    "SPDL, opened",
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One comparison."""

    name: str
    """For the command line and file names."""
    says: str
    """What is read, for the table."""
    layout: Layout
    mode: Mode = "clips"
    ours: str = OURS
    """The reader that is held against all others."""
    ours_mode: Mode | None = None
    """Where it differs from ``mode``."""
    others: tuple[str, ...] = EVERYBODY
    workers: int = 0
    others_workers: int | None = None
    """Where it differs from ``workers``."""
    lookahead: int = 1
    """Of filmgate's side."""
    whole_clips: int = 1
    """A sample has a multiple of so many clips."""
    multiple_of: int = 1
    """Clips start on multiples of it."""
    size: float = 1.0
    """Clips of a measurement, in units of what is asked for on the command line. Copies are read so
    fast that opening each of the 12 videos once would weigh more than the clips, were they few."""
    bar: float | None = 1.0
    """Ratio to the fastest of the others that has to be passed; None: shown, not judged."""
    unit: str = "clips per CPU-second"

    def num_clips(self, count: int) -> int:
        """Timed clips of a sample, for the ``count`` of the command line."""
        return -(-round(count * self.size) // self.whole_clips) * self.whole_clips

    def clips(self, count: int) -> list[Clip]:
        """``count`` clips, whole visits where clips come in visits."""
        if self.mode == "visits":
            return random_visits(-(-count // VISIT_CLIPS), SEED)
        return random_clips(count, SEED, multiple_of=self.multiple_of)


WALL = "clips per second"

ROWS: tuple[Row, ...] = (
    Row(name="source", says="source video, RGB", layout="source"),
    Row(
        name="visits", says="source video, 4 clips of one video at a time, RGB",
        layout="source", mode="visits", others=FASTEST_FORMS,
    ),
    Row(name="training", says="training copy, RGB", layout="training", size=12),
    Row(name="temporal", says="temporal copy, RGB", layout="temporal", size=12),
    Row(
        name="aligned", says="temporal copy, starts on multiples of 4, RGB",
        layout="temporal", size=12, multiple_of=4,
    ),
    Row(
        name="source-yuv", says="source video, filmgate in YUV, the others in RGB",
        layout="source", ours=OURS_YUV, others=FASTEST_FORMS, bar=None,
    ),
    Row(
        name="aligned-yuv", says="temporal copy, starts on multiples of 4, filmgate in YUV",
        layout="temporal", ours=OURS_YUV, others=FASTEST_FORMS, size=12, multiple_of=4, bar=None,
    ),
    Row(
        name="cache", says="decoded frames kept in memory",
        layout="source", ours=OURS_CACHE, others=(), bar=None,
    ),
    Row(
        name="ceiling-source", says="source video, against libavcodec alone",
        layout="source", others=(CEILING,), bar=None,
    ),
    Row(
        name="ceiling-aligned", says="temporal copy on multiples of 4, against libavcodec alone",
        layout="temporal", others=(CEILING,), size=12, multiple_of=4, bar=None,
    ),
    Row(
        name="two-workers", says="source video, the feed with 2 workers against 1",
        layout="source", mode="feed", others=(OURS,), workers=2, others_workers=1,
        bar=1.8, unit=WALL,
    ),
    Row(
        name="look-ahead", says="source video, the feed with a look-ahead of 4 epochs against 1",
        layout="source", mode="feed", others=(OURS,), workers=1, lookahead=4,
        whole_clips=4 * NUM_VIDEOS,
    ),
    Row(
        name="feed", says="source video, the feed with 2 workers against DataLoader with 2",
        layout="source", mode="loader", ours_mode="feed", others=LOADER_FORMS, workers=2,
        size=2, unit=WALL,
    ),
    Row(
        name="feed-training", says="training copy, the feed with 2 workers against DataLoader",
        layout="training", mode="loader", ours_mode="feed", others=LOADER_FORMS, workers=2,
        size=6, unit=WALL,
    ),
)  # fmt: skip

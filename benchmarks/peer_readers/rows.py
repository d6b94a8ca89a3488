"""The rows of the comparison: what is read, and by whom."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from benchmarks.footage import NUM_VIDEOS
from benchmarks.peer_readers.clips import VISIT_CLIPS, Clip, random_clips, random_visits
from benchmarks.peer_readers.jobs import BATCH_CLIPS
from benchmarks.peer_readers.others import OTHERS
from benchmarks.peer_readers.readers import CEILING, OURS, OURS_YUV
from benchmarks.peer_readers.task import Ask, Entry

SEED = 20
LOOKAHEAD = 4
CPU = "clips per CPU-second"
WALL = "clips per second"
SHARE = "AU"


@dataclass(frozen=True, kw_only=True)
class Size:
    """How long everything is measured."""

    name: str
    rounds: int
    """Samples of each reader; filmgate has more."""
    clips: int
    """Source clips of a sample in processor time."""
    loader_clips: int
    """Clips of a sample in wall time."""
    au_seconds: float
    """Length of the window with a consumer."""
    has_extras: bool
    """Whether what is only shown is measured, too."""


QUICK = Size(name="quick", rounds=3, clips=5, loader_clips=24, au_seconds=20.0, has_extras=False)
FULL = Size(name="full", rounds=5, clips=12, loader_clips=48, au_seconds=60.0, has_extras=True)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One comparison; each of ours stands beside each of the others."""

    name: str
    """For the command line."""
    says: str
    """What is read, for the table."""
    ours: tuple[Entry, ...]
    """Measured before and after every other package."""
    others: tuple[Entry, ...] = ()
    extras: tuple[Entry, ...] = ()
    """Further others, that no line judges: left out of a quick run."""
    unit: str = CPU
    is_extra: bool = False
    """Whether no line judges the row at all."""
    minutes: tuple[float, float] = (1.0, 5.0)
    """About how long it takes on two cores, quick and full; for the time left."""

    def others_of(self, size: Size) -> tuple[Entry, ...]:
        """Those that are measured in a run of this size, one package after the other."""
        return (*self.others, *self.extras) if size.has_extras else self.others


def ask_of(entry: Entry, size: Size, round_number: int) -> Ask:
    """One sample; in one round all readers of a layout get the same clips."""
    count, seed = max(1, round(size.clips * entry.size)), SEED + round_number
    if entry.mode == "clips":
        return Ask(clips=random_clips(count, seed, multiple_of=entry.multiple_of))
    if entry.mode in ("visits", "singly"):
        return Ask(clips=visits(count, seed))
    if entry.mode == "au":
        return Ask(seconds=size.au_seconds)
    if entry.mode == "cache":
        return Ask(num_clips=count)
    num_clips = round(size.loader_clips * entry.size)
    # A look-ahead makes the clips of some epochs at once: whole turns, or the phase would count.
    whole = LOOKAHEAD * NUM_VIDEOS if entry.lookahead > 1 else BATCH_CLIPS
    return Ask(num_clips=-(-num_clips // whole) * whole)


def visits(count: int, seed: int) -> list[Clip]:
    """At least ``count`` clips, in whole visits, at least two."""
    return random_visits(max(2, -(-count // VISIT_CLIPS)), seed)


def _entries(names: tuple[str, ...], **keys: object) -> tuple[Entry, ...]:
    return tuple(msgspec.convert({"label": name, "reader": name, **keys}, Entry) for name in names)


def _singly(names: tuple[str, ...]) -> tuple[Entry, ...]:
    plain = _entries(names, mode="singly")
    return tuple(msgspec.structs.replace(one, label=f"{one.label}, clip by clip") for one in plain)


def _loaders(names: tuple[str, ...]) -> tuple[Entry, ...]:
    plain = _entries(names, mode="loader", workers=2)
    return tuple(msgspec.structs.replace(one, label=f"{one.label}, DataLoader") for one in plain)


TORCHCODEC = tuple(name for name in OTHERS if name.startswith("torchcodec"))
REST = tuple(name for name in OTHERS if not name.startswith("torchcodec"))
COPY_RGB, COPY_YUV = "filmgate, copy, RGB", "filmgate, copy, YUV"
CACHE = "filmgate, cache"
TWO_WORKERS, ONE_WORKER = "filmgate feed, 2 workers", "filmgate feed, 1 worker"
FEED_AHEAD = f"filmgate feed, 2 workers, look-ahead {LOOKAHEAD}"
AU = "filmgate feed and a consumer"
ON_COPY = {"layout": "temporal", "multiple_of": 4, "size": 12.0}
LOADED = ("approximate", "exact", "mapping")

ROWS: tuple[Row, ...] = (
    Row(
        name="source", says="source video, one clip at a time, RGB",
        ours=_entries((OURS,)),
        others=_entries((*TORCHCODEC, *REST, CEILING)),
        minutes=(2.7, 8.0),
    ),
    Row(
        name="visits", says="source video, 4 clips of one video at a time, RGB",
        ours=_entries((OURS,), mode="visits"),
        others=(*_singly(TORCHCODEC), *_entries(TORCHCODEC, mode="visits")),
        extras=_entries(REST, mode="visits"),
        minutes=(2.0, 10.0),
    ),
    Row(
        name="copies", says="filmgate on training copies (3 B-frames that nothing refers to, "
        "starts on multiples of 4), in YUV and from its cache, against torchcodec on the source",
        ours=(
            Entry(label=COPY_RGB, reader=OURS, layout="temporal", multiple_of=4, size=12),
            Entry(label=COPY_YUV, reader=OURS_YUV, layout="temporal", multiple_of=4, size=12),
            Entry(label=CACHE, reader=OURS, mode="cache", size=80),
            Entry(label="filmgate, source, YUV", reader=OURS_YUV),
        ),
        others=_entries(TORCHCODEC),
        minutes=(1.5, 5.0),
    ),
    Row(
        name="two-workers", says="source video, the feed with 2 workers and with 1", unit=WALL,
        ours=(Entry(label=TWO_WORKERS, reader=OURS, mode="feed", workers=2, size=2),),
        others=(Entry(label=ONE_WORKER, reader=OURS, mode="feed", workers=1, size=2),),
        minutes=(1.2, 4.0),
    ),
    Row(
        name="au", says="source video, a consumer that takes 85 % of what the feed just gave",
        ours=(Entry(label=AU, reader=OURS, mode="au", workers=2),), unit=SHARE,
        minutes=(1.6, 7.0),
    ),
    Row(
        name="feed", says="source video, the feed with 2 workers and DataLoader with 2", unit=WALL,
        ours=(
            Entry(label=FEED_AHEAD, reader=OURS, mode="feed", workers=2, lookahead=LOOKAHEAD),
        ),
        others=_loaders(tuple(f"torchcodec {seek}, kept" for seek in LOADED)),
        extras=(
            *_loaders(tuple(f"torchcodec {seek}, opened" for seek in LOADED)),
            *_loaders(REST),
            *_loaders((OURS,)),
            Entry(label=TWO_WORKERS, reader=OURS, mode="feed", workers=2),
        ),
        minutes=(1.6, 16.0),
    ),
    Row(
        name="training", says="training copy without B-frames, RGB", is_extra=True,
        ours=_entries((OURS,), layout="training", size=12.0),
        others=_entries((*TORCHCODEC, *REST, CEILING), layout="training", size=12.0),
        minutes=(1.5, 4.0),
    ),
    Row(
        name="temporal", says="training copy with 3 B-frames that nothing refers to, starts on "
        "multiples of 4, RGB",
        ours=_entries((OURS,), **ON_COPY), is_extra=True,
        others=_entries((*TORCHCODEC, *REST, CEILING), **ON_COPY),
        minutes=(1.5, 4.0),
    ),
)  # fmt: skip

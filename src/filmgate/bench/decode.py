"""``filmgate bench decode``: frames and clips a second, by codec, size, decoder and cores."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import av

from filmgate.bench.ask import Ask, Tell
from filmgate.bench.decode_clips import MADE, Made, make_video
from filmgate.bench.decode_gpu import gpu_measures
from filmgate.bench.decode_process import DecodeAnswer, DecodeRequest
from filmgate.bench.decode_timing import CLIP, Pace, RandomClips, time_clips, time_frames
from filmgate.bench.processes import run_together
from filmgate.catalog import Catalog, index_videos, open_catalog
from filmgate.errors import UserError, VideoError
from filmgate.machine.measured import BenchPart, Measure, measure_of
from filmgate.units import format_rate, format_share
from filmgate.work.cores import num_usable_cores

SIZES = ((1280, 720), (1920, 1080), (456, 256))
"""Width and height: two as cameras give them, and a training copy."""
QUICK_SIZES = ((1280, 720),)
NUM_FRAMES = 96
ROUNDS, QUICK_ROUNDS = 5, 3
LEAST_CLIPS, LEAST_CORE_SECONDS = 4, 0.2
MOST_GROUPS, MOST_OF_GROUP = 6, 4
WINDOWS, WINDOW_SECONDS = 5, 1.0
DEADLINE_SECONDS = 300.0
PROCESS = "filmgate.bench.decode_process"
WARM_UP = "one round"
CLIP_WORDS = f"{CLIP.frames} frames, every second one, {CLIP.width}x{CLIP.height} RGB"


@dataclass(frozen=True, kw_only=True)
class Group:
    """Videos of one codec and size."""

    name: str
    """``h264-1280x720``."""
    catalog: Catalog
    rows: list[int]


@dataclass(frozen=True, kw_only=True)
class Found:
    """What has been measured so far."""

    measures: list[Measure] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)
    says: list[str] = field(default_factory=list)


def bench_decode(ask: Ask, tell: Tell) -> BenchPart:
    """Rates of one core for each codec and size, of all cores together, and of NVDEC.

    Raises UserError for videos that cannot be used.
    """
    found = Found()
    facts = {"clip": CLIP_WORDS}
    with tempfile.TemporaryDirectory(prefix="filmgate-bench-decode-") as name:
        groups, total = _groups(ask, Path(name), found)
        first: Group | None = None
        for done, group in enumerate(groups):
            tell(done, total, group.name)
            first = first or group
            found.measures.extend(_one_core(group, ask.quick, found))
            gpu_measures(group.catalog, group.rows, group.name, ask, found.measures, found.unknown)
        if first is not None:
            _on_all_cores(first, ask.quick, found, lambda: tell(total - 1, total, "all cores"))
    if not found.measures:
        why = "; ".join(found.unknown.values()) or "no video could be used"
        return BenchPart(name="decode", status="could not measure", why=why, unknown=found.unknown)
    return BenchPart(
        name="decode", status="measured", measures=found.measures, facts=facts, says=found.says,
        unknown=found.unknown,
    )  # fmt: skip


def _groups(ask: Ask, folder: Path, found: Found) -> tuple[Iterator[Group], int]:
    """The groups, made one by one where they are of our own, and how many steps there are."""
    if ask.videos:
        groups = groups_of(_catalog_of(ask.videos, folder), found.unknown)
        return iter(groups), len(groups) + 1
    sizes = QUICK_SIZES if ask.quick else SIZES
    wanted = [(made, size) for size in sizes for made in MADE]
    return _own_groups(wanted, folder, found), len(wanted) + 1


def _own_groups(
    wanted: Sequence[tuple[Made, tuple[int, int]]], folder: Path, found: Found
) -> Iterator[Group]:
    for made, (width, height) in wanted:
        name = f"{made.codec}-{width}x{height}"
        path = folder / f"{name}{made.suffix}"
        try:
            make_video(made, width, height, NUM_FRAMES, path)
        except (av.FFmpegError, ValueError) as error:
            found.unknown[name] = f"{made.encoder} cannot make it here: {error}"
            continue
        catalog = index_videos(path, folder / f"{name}-catalog", workers=0)
        yield Group(name=name, catalog=catalog, rows=[0])


def _catalog_of(videos: Sequence[Path], folder: Path) -> Catalog:
    if len(videos) == 1 and (videos[0] / "catalog.json").exists():
        return open_catalog(videos[0])
    for path in videos:
        if not path.exists():
            raise UserError(
                f"{path} does not exist", hint="name a catalog, a folder of videos, or a video"
            )
    return index_videos(list(videos), folder / "catalog", labels=None, workers=0)


def groups_of(catalog: Catalog, unknown: dict[str, str]) -> list[Group]:
    """The commonest codecs and sizes of a catalog, each with videos spread over it; the groups
    that are left out are told in ``unknown``."""
    codecs, widths, heights = (
        catalog.column(name).to_pylist() for name in ("codec", "width", "height")
    )
    names = [f"{c}-{w}x{h}" for c, w, h in zip(codecs, widths, heights, strict=True)]
    counts = Counter(names).most_common()
    for name, count in counts[MOST_GROUPS:]:
        unknown[name] = f"{count} videos, only the {MOST_GROUPS} commonest kinds are measured"
    groups = []
    for name, _ in counts[:MOST_GROUPS]:
        rows = [row for row, other in enumerate(names) if other == name]
        step = max(1, len(rows) // MOST_OF_GROUP)
        groups.append(Group(name=name, catalog=catalog, rows=rows[::step][:MOST_OF_GROUP]))
    return groups


def _one_core(group: Group, quick: bool, found: Found) -> list[Measure]:
    """Both figures of one core; none, with the reason, where a video does not decode."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    clips = RandomClips(group.catalog, group.rows, seed=0)
    try:
        with clips.reader:
            turns = [
                (
                    time_frames(group.catalog, group.rows),
                    time_clips(clips, LEAST_CLIPS, LEAST_CORE_SECONDS),
                )
                for _ in range(rounds + 1)
            ]
    except VideoError as error:
        found.unknown[group.name] = str(error)
        return []
    frames = [turn[0] for turn in turns[1:]]
    return [
        _per_core(
            f"{group.name}-frames", "frames/s", frames,
            "Frames decoded in order in a second of one core, not turned into RGB; one thread.",
            "ffmpeg -threads 1 -benchmark -f null",
        ),
        _per_core(
            f"{group.name}-clips", "clips/s", [turn[1] for turn in turns[1:]],
            f"Clips from random places ({CLIP_WORDS}) made in a second of one core, the decoding "
            "on the way to them included; one thread.",
            "",
        ),
    ]  # fmt: skip


def _per_core(name: str, unit: str, paces: Sequence[Pace], definition: str, anchor: str) -> Measure:
    walls = sorted(pace.per_second for pace in paces)
    return measure_of(
        name, "frames/s" if unit == "frames/s" else "clips/s",
        [pace.per_core_second for pace in paces],
        definition=definition, anchor=anchor, warm_up=WARM_UP,
        conditions={
            "clock": "CPU time",
            "by the wall clock": f"{round(walls[len(walls) // 2], 1):g} {unit}",
        },
    )  # fmt: skip


def _on_all_cores(group: Group, quick: bool, found: Found, tell: Callable[[], None]) -> None:
    """One process for each of 1, 2, 4, ... and all cores, at once."""
    rates: dict[int, Measure] = {}
    for number in counts_up_to(num_usable_cores()):
        tell()
        answers = run_together(
            PROCESS,
            DecodeRequest(
                catalog=str(group.catalog.path), rows=group.rows, num_processes=number,
                windows=QUICK_ROUNDS if quick else WINDOWS, window_seconds=WINDOW_SECONDS,
                timeout_seconds=DEADLINE_SECONDS / 2,
            ),
            DecodeAnswer,
            num_processes=number,
            deadline_seconds=DEADLINE_SECONDS,
        )  # fmt: skip
        sums = zip(*(answer.clips_per_second for answer in answers), strict=True)
        rates[number] = measure_of(
            f"{group.name}-clips-on-{number}", "clips/s", [sum(parts) for parts in sums],
            definition=f"Clips of {group.name} from random places that {number} processes of one "
            "thread make together in a second by the wall clock, other programs included.",
            warm_up="one clip and one window of each process",
            conditions={"processes": str(number), "window": f"{WINDOW_SECONDS:g} s"},
        )  # fmt: skip
    found.measures.extend(rates.values())
    most = max(rates)
    if most > 1:
        share = rates[most].median / (most * rates[1].median)
        found.says.append(
            f"{most} processes make {format_rate(rates[most].median, 'clips')} of {group.name}, "
            f"{format_share(share)} of {most} times one; less than 100 %: memory, shared cores or "
            "other programs"
        )


def counts_up_to(num_cores: int) -> list[int]:
    """1, 2, 4, ... and the number of cores itself."""
    counts = [1]
    while counts[-1] * 2 < num_cores:
        counts.append(counts[-1] * 2)
    return counts if num_cores == 1 else [*counts, num_cores]

"""Trying layouts on some of the user's own videos, with the job's own clips.

Each candidate encodes the same stretches of the same videos. The feed's reader then reads the same
clips from each copy and from the source, in turns, so that a busy machine is equally busy for all.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filmgate.catalog import Catalog, index_videos
from filmgate.prepare.check import Likeness
from filmgate.prepare.recipe import Recipe
from filmgate.prepare.speed import Pace, Speed, Subject, cpu_seconds_of, read_in_turns
from filmgate.prepare.stretches import MadeCopy, Stretch, choose_stretches, encode_stretches
from filmgate.records import Record
from filmgate.spec import Clip

SOURCE = "source"
"""Label of the videos as they are."""
PROBE_CLIPS = 3
"""Clips that are read to know what one costs."""


class SampleSize(Record, frozen=True):
    """How much is tried."""

    num_videos: int = 6
    """Videos, spread over the bit rates of the set."""
    seconds: float = 10.0
    """Footage of each, from its middle."""
    rounds: int = 3
    """Rounds of reading that count; one more goes before."""
    clips_per_round: int = 6
    """Clips of each subject in a round, at least."""
    round_seconds: float = 0.5
    """CPU time of each subject in a round, at least."""
    yuv: bool = True
    """Whether clips are read as YUV 4:2:0 as well."""


class Trial(Record, frozen=True, kw_only=True):
    """What trying one layout on the sample showed."""

    label: str
    """The layout, or ``source``."""
    recipe: Recipe | None
    """None: the videos as they are."""
    video_seconds: float
    """Footage in the sample."""
    bytes: int | None = None
    """Of the sample in this layout; the source's share of its files by time. None: it failed."""
    bytes_per_hour: float | None = None
    """The same for an hour of footage."""
    size_share: float | None = None
    """Bytes over the source's."""
    clips_per_cpu_second: float | None = None
    """RGB clips of the job that one core reads in a second; median of the rounds."""
    clips_per_cpu_second_yuv: float | None = None
    """The same as YUV 4:2:0; None where the clip's size is odd."""
    clips_per_cpu_second_rounds: list[float] = []
    """RGB, each round."""
    read_bytes_per_clip: float | None = None
    """Bytes that the reader asked the file system for."""
    encode_cpu_seconds_per_hour: float | None = None
    """To make an hour of footage, reading the source included; None for the source."""
    likeness: Likeness | None = None
    """To the source's pictures at the copy's size; None for the source."""
    why_not: str | None = None
    """Why there is no measurement."""


OnProgress = Callable[[int, int], None]


def measure_layouts(
    catalog: Catalog,
    clip: Clip,
    recipes: Sequence[Recipe],
    *,
    sample: SampleSize | None = None,
    workers: int | None = None,
    scratch: Path | None = None,
    on_progress: OnProgress | None = None,
    on_reading: Callable[[], OnProgress] | None = None,
) -> list[Trial]:
    """A trial of the source, then one of each recipe.

    Copies are made in ``scratch``, which is emptied before and after (none: a temporary folder),
    on ``workers`` processes (one per core by default); the reading is timed here, on one thread.
    ``on_progress`` is told encodes done and in all, what ``on_reading`` gives is told readings.

    Raises UserError when no video is long enough for a clip.
    """
    sample = sample if sample is not None else SampleSize()
    stretches = choose_stretches(catalog, clip, sample.num_videos, sample.seconds)
    with _emptied(scratch) as folder, ExitStack() as stack:
        made = encode_stretches(catalog, stretches, recipes, folder, workers, on_progress)
        source = Subject(
            catalog, clip, stretches, num_in_set=catalog.num_videos, reference_every=1,
            yuv=sample.yuv,
        )  # fmt: skip
        copies = [_subject(copy, clip, catalog.num_videos, sample.yuv) for copy in made]
        subjects = [stack.enter_context(one) for one in (source, *copies) if one is not None]
        pace = Pace(
            rounds=sample.rounds, clips=sample.clips_per_round, cpu_seconds=sample.round_seconds
        )
        reading = on_reading() if on_reading is not None else None
        speeds = dict(zip(subjects, read_in_turns(subjects, pace, reading), strict=True))
        first = _source_trial(catalog, stretches, speeds[source])
        return [
            first,
            *[
                _copy_trial(copy, speeds[subject] if subject is not None else None, first)
                for copy, subject in zip(made, copies, strict=True)
            ],
        ]


@contextmanager
def _emptied(folder: Path | None) -> Iterator[Path]:
    """The folder without what a killed measurement left in it, gone afterwards."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="filmgate-measure-") as temporary:
            yield Path(temporary)
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def clip_cpu_seconds(catalog: Catalog, clip: Clip) -> float:
    """CPU time of reading one clip of a catalog's videos, from a few of them.

    Raises UserError when no video is long enough for a clip.
    """
    stretches = choose_stretches(catalog, clip, PROBE_CLIPS, math.inf)
    with Subject(
        catalog, clip, stretches, num_in_set=catalog.num_videos, reference_every=1, yuv=False
    ) as subject:
        return cpu_seconds_of(subject, PROBE_CLIPS)


def _subject(copy: MadeCopy, clip: Clip, num_in_set: int, yuv: bool) -> Subject | None:
    if copy.why_not is not None:
        return None
    catalog = index_videos(copy.folder, copy.folder / "catalog", labels=None, workers=0)
    whole = [
        Stretch(row=row, first=0, num_frames=int(num_frames), seconds=seconds)
        for row, (num_frames, seconds) in enumerate(
            zip(catalog.num_frames, catalog.column("duration_seconds").to_pylist(), strict=True)
        )
    ]
    spacing = copy.recipe.layout.reference_every
    return Subject(catalog, clip, whole, num_in_set=num_in_set, reference_every=spacing, yuv=yuv)


def _source_trial(catalog: Catalog, stretches: Sequence[Stretch], speed: Speed) -> Trial:
    num_bytes = sum(_source_bytes(catalog, one) for one in stretches)
    seconds = sum(one.seconds for one in stretches)
    return Trial(
        label=SOURCE,
        recipe=None,
        video_seconds=seconds,
        bytes=num_bytes,
        bytes_per_hour=num_bytes * 3600 / seconds,
        size_share=1.0,
        clips_per_cpu_second=speed.rgb,
        clips_per_cpu_second_yuv=speed.yuv,
        clips_per_cpu_second_rounds=speed.rgb_rounds,
        read_bytes_per_clip=speed.read_bytes_per_clip,
    )


def _source_bytes(catalog: Catalog, stretch: Stretch) -> int:
    facts = catalog.video(stretch.row)
    return round(facts.stamp.size_bytes * stretch.seconds / facts.duration_seconds)


def _copy_trial(copy: MadeCopy, speed: Speed | None, source: Trial) -> Trial:
    label, seconds = copy.recipe.layout.label, source.video_seconds
    if speed is None:
        return Trial(label=label, recipe=copy.recipe, video_seconds=seconds, why_not=copy.why_not)
    return Trial(
        label=label,
        recipe=copy.recipe,
        video_seconds=seconds,
        bytes=copy.num_bytes,
        bytes_per_hour=copy.num_bytes * 3600 / seconds,
        size_share=copy.num_bytes / source.bytes if source.bytes else None,
        clips_per_cpu_second=speed.rgb,
        clips_per_cpu_second_yuv=speed.yuv,
        clips_per_cpu_second_rounds=speed.rgb_rounds,
        read_bytes_per_clip=speed.read_bytes_per_clip,
        encode_cpu_seconds_per_hour=copy.cpu_seconds * 3600 / seconds,
        likeness=copy.likeness,
    )

"""What a report shows beside telemetry and verdict; `filmgate run` fills it in."""

from __future__ import annotations

from math import sqrt
from typing import Literal

from filmgate.catalog.order import Order
from filmgate.prepare.recipe import Recipe
from filmgate.records import Header, Record
from filmgate.spec import Job
from filmgate.train.result import ClassScore
from filmgate.units import counted, format_share


class LeftOutVideo(Record, frozen=True):
    """A file that was found but is not in the catalog."""

    path: str
    """As the user would find it."""
    reason: str
    """One clause."""


class SkippedClip(Record, frozen=True):
    """A clip that the feed left out or replaced under the job's error policy."""

    path: str
    """The video."""
    place: str
    """Where in it, for example ``frames 120 to 134``."""
    reason: str
    """One clause."""


class RunCopies(Record, frozen=True, kw_only=True):
    """Whether a run trains from a training copy, as ``prepare.json``; decided once."""

    header: Header
    """Its input is the catalog of the videos as they are."""
    recipe: Recipe | None
    """What the copy is; None: the run reads the videos as they are."""
    why: str
    """One sentence."""
    num_clips: int
    """Clips that the run reads."""
    layouts: str | None
    """File in the run folder with what was measured; None: nothing was."""
    seconds: float
    """How long deciding took."""


class RunSummary(Record, frozen=True):
    """One run in numbers; None is unknown, an empty list is none."""

    name: str
    """The job's name; title of the report."""
    job: Job
    """The effective job, as it ran."""
    target: Literal["label", "source", "annotations"]
    """What was learnt: the label, or which video a clip comes from."""
    num_videos: int
    """In the catalog."""
    left_out: list[LeftOutVideo]
    """Found, but not in the catalog."""
    num_frames: int | None = None
    """Displayed frames of all videos."""
    video_seconds: float | None = None
    """Length of all videos together."""
    video_bytes: int | None = None
    """Size of all files together."""
    codecs: dict[str, int] = {}
    """Codec -> videos."""
    frame_sizes: dict[str, int] = {}
    """``1280x720`` as displayed -> videos."""
    labels: dict[str, int] = {}
    """Label -> videos; empty when none has one."""
    warnings: list[str] = []
    """What in the catalog makes training slow or wrong, one sentence each."""
    skipped: list[SkippedClip] = []
    """Clips left out or replaced in the whole run, the first 1000."""
    num_skipped: int = 0
    """All of them."""
    num_padded: int = 0
    """Training clips longer than their video, padded by the ``short`` rule."""
    device: str = "cpu"
    """``cpu`` or the name of the GPU."""
    machine: str | None = None
    """One line: cores, memory."""
    num_parameters: int | None = None
    """Of the model."""
    steps: int = 0
    """Optimizer updates done."""
    final_loss: float | None = None
    """Of the last step."""
    accuracy: float | None = None
    """Share of held-out clips named right at the end, 0..1."""
    chance: float | None = None
    """Accuracy of guessing the largest class, 0..1."""
    why_not_scored: str | None = None
    """One clause when ``accuracy`` is None."""
    held_out: str | None = None
    """What is evaluated: by time, by sample or by split; None: a run from before there were others.
    """
    num_not_held_out: int = 0
    """Videos too short to give a clip on both sides of the held-out border."""
    num_holdout_clips: int | None = None
    """Clips behind ``accuracy``."""
    classes: list[ClassScore] = []
    """Accuracy by class at the end."""
    attempts: int = 1
    """Starts of the run; 1 when it was never resumed."""
    seconds: float | None = None
    """Wall time of all attempts together, pauses between them left out."""
    copies: RunCopies | None = None
    """Whether it was trained from a training copy, and why; None: a run from before copies."""
    digests: dict[str, str] = {}
    """Artifact (catalog, job, telemetry, final commit, ...) -> digest."""


def score_interval(num_right: float, num_clips: int) -> tuple[float, float]:
    """95 % interval of a share, 0..1, for ``num_clips`` > 0.

    Source: Wilson 1927. Known error: clips of one video resemble each other, so the true interval
    is wider.
    """
    z = 1.96
    share = num_right / num_clips
    middle = (share + z * z / (2 * num_clips)) / (1 + z * z / num_clips)
    half = z * sqrt(share * (1 - share) / num_clips + z * z / (4 * num_clips**2))
    half /= 1 + z * z / num_clips
    return max(0.0, middle - half), min(1.0, middle + half)


def describe_copies(copies: RunCopies) -> str:
    """``a training copy, temporal-h264-q20-k16-r4: why``, or ``the videos as they are: why``."""
    recipe = copies.recipe
    what = "the videos as they are" if recipe is None else f"a training copy, {recipe.layout.label}"
    return f"{what}: {copies.why}"


def describe_held_out(order: Order) -> str:
    """``by time: the last 25 % of each of 8 videos``, or which rows are held out as a whole."""
    rows = order.rows
    if rows is None:
        if not order.num_held_out:
            return "nothing"
        share = f"the last {format_share(order.facts.holdout)}"
        return f"by time: {share} of each of {counted(order.num_held_out, 'video')}"
    what = f"{order.num_held_out} of {order.num_videos} rows"
    if rows.by == "sample":
        return f"by sample: {what}, as much of each label"
    told = f"by split column: {what} are {rows.evaluated}, {order.num_trained} are trained on"
    alone = f", {rows.num_left_alone} are left alone" if rows.num_left_alone else ""
    return told + alone


def describe_score(summary: RunSummary) -> str:
    """``71 % of 96 held-out clips (60 to 80 %); chance 25 %``."""
    if summary.chance == 1:
        return f"not scored: all {summary.num_holdout_clips} held-out clips are of one class"
    if summary.accuracy is None:
        return "not scored" + (f": {summary.why_not_scored}" if summary.why_not_scored else "")
    said = f"{100 * summary.accuracy:.0f} %"
    if summary.num_holdout_clips:
        right = summary.accuracy * summary.num_holdout_clips
        low, high = score_interval(right, summary.num_holdout_clips)
        said += f" of {counted(summary.num_holdout_clips, 'held-out clip')}"
        said += f" ({100 * low:.0f} to {100 * high:.0f} %)"
    chance = "unknown" if summary.chance is None else f"{100 * summary.chance:.0f} %"
    unheld = summary.num_not_held_out
    short = f"; {unheld} of {summary.num_videos} videos too short to hold out" if unheld else ""
    return f"{said}; chance {chance}{short}"

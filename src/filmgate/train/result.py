"""What a finished run came to."""

from __future__ import annotations

from filmgate.feed.stats import Skipped
from filmgate.records import Header, Record
from filmgate.train.request import Value

SCHEMA = "filmgate.train"
SCHEMA_VERSION = 1


class ClassScore(Record, frozen=True):
    """Held-out clips of one class."""

    name: str
    """Label, or the video's name where the source is the target."""
    num_clips: int
    """Held-out clips of the class."""
    num_right: int
    """How many of them the model classified right."""


class TrainResult(Record, frozen=True):
    """The outcome of a run, as ``train.json`` in the run folder."""

    header: Header
    """Its inputs are the digests of the job, the catalog and the last commit."""
    steps: int
    """Optimizer updates done."""
    final_loss: float
    """Training loss of the last step."""
    holdout_loss: float | None
    """Mean loss over the held-out clips; None when there are none."""
    accuracy: float | None
    """Share of held-out clips classified right, 0..1; None when there are none."""
    chance: float | None
    """Share of the most frequent class among them: what always guessing it scores."""
    why_no_accuracy: str | None
    """The reason when there is none; None otherwise."""
    num_holdout_clips: int
    """Clips behind the accuracy."""
    num_classes: int
    """Classes that the model tells apart."""
    class_names: list[str]
    """Class number -> name."""
    class_scores: list[ClassScore]
    """Held-out score of each class; empty when there are no held-out clips."""
    num_parameters: int
    """Trainable numbers of the model."""
    samples_digest: str
    """Digest over every training sample in order; interruptions do not change it."""
    attempts: int
    """Starts of the run; 1 when it was never interrupted."""
    skipped_clips: int
    """Attempts at a training clip that failed, over all attempts at the run; a step that was done
    again counts once, so interruptions do not change it."""
    skipped: list[Skipped]
    """The first of them, at most 1000, with place and reason."""
    padded_clips: int
    """Training clips longer than their video, padded by the ``short`` rule, counted likewise."""
    never_shown_videos: int
    """Videos of weight 0, which no training clip showed."""
    device: str
    """``cpu`` or the name of the GPU."""
    train_threads: int
    """CPU threads of the training process; with another number losses differ in the last digits."""
    is_bit_repeatable: bool
    """Whether only deterministic kernels were allowed, as on CPU."""
    torch_version: str
    """As torch tells it."""
    events: list[str]
    """Everything out of the ordinary, over all attempts."""
    outcome_keys: dict[str, Value]
    """What decided the outcome: keys of the job, and the catalog's digest."""
    metrics: dict[str, float] = {}
    """What else the model's task measured on the held-out clips, by name."""
    commits_share_device: bool | None = None
    """Whether a video lies on the device of the commits; None where it was not looked at."""
    world_size: int = 1
    """Ranks of the last attempt."""
    parallel: str = "none"
    """What they did: ``none``, ``ddp`` or ``fsdp2``."""
    step_seconds: float | None = None
    """Median of a step; None where it was not recorded."""
    peak_host_bytes: int | None = None
    """Most memory of the training process, without feed workers; None likewise."""
    peak_device_bytes: int | None = None
    """Most GPU memory that its tensors took; None likewise, and without a GPU."""

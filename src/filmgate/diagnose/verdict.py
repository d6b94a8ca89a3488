"""The records of a verdict. Shares are 0..1; None is unknown, and a reason stands beside it."""

from __future__ import annotations

from typing import Literal

from filmgate.records import Header, Record

Bound = Literal["data", "compute", "saving", "transfer", "cannot say"]
Confidence = Literal["high", "medium", "low"]


class LeftOutSteps(Record, frozen=True):
    """Steps that the numbers do not count, and why."""

    reason: str
    """One clause."""
    steps: int
    """How many."""
    seconds: float
    """What they took, saves and evaluation apart."""


class Part(Record, frozen=True):
    """One part of the time of the counted steps."""

    name: str
    """``data_wait``, ``transfer``, ``forward``, ``backward``, ``optimizer``, ``other`` (in none of
    the parts), ``save`` or ``evaluation``."""
    count: int
    """How often it happened: steps, saves or evaluations."""
    total_seconds: float
    """Sum over the counted steps. ``other`` is what is left over and may be a hair below 0."""
    median_seconds: float | None
    """Of one time; None when it never happened."""
    share: float
    """Of all counted time; the shares of a verdict add up to 1."""
    share_of_training: float | None
    """Of the counted time without evaluation; None for evaluation itself."""


class Stage(Record, frozen=True):
    """One stage of the feed's work."""

    name: str
    """As the feed calls it (open, decode, convert, ...); ``other`` is busy time in no stage."""
    seconds: float
    """Worker seconds in it, summed over the workers."""
    share: float
    """Of all worker seconds; high means that this stage sets the supply."""
    seconds_per_clip: float | None
    """Worker seconds for one clip; None before the first clip."""


class Rates(Record, frozen=True):
    """What the trainer would take, what it got, what the feed could give; over all ranks."""

    demand_clips_per_second: float | None = None
    """Clips per step / mean step time without data wait."""
    delivered_clips_per_second: float | None = None
    """Clips per step / mean step time; saves and evaluation apart."""
    supply_clips_per_second: float | None = None
    """Clips / (worker busy seconds / workers) x ranks: what the workers would give if they never
    waited for a free slot. Workers slowed by the trainer's use of the same cores show it here."""
    supply_reason: str | None = None
    """Why the supply is unknown, or how it was found where that is special."""
    delivered_frames_per_second: float | None = None
    """Delivered clips/s x frames per clip."""
    delivered_bytes_per_second: float | None = None
    """Delivered clips/s x bytes of a decoded clip."""
    read_bytes_per_second: float | None = None
    """Bytes asked of storage per clip x delivered clips/s; None where that is not recorded."""
    frames_decoded_per_frame_delivered: float | None = None
    """1 is ideal; high means that decoding starts far before the wanted frames."""
    worker_busy_share: float | None = None
    """Of the workers' time; near 1 means that the feed gives all it has."""
    worker_cpu_share: float | None = None
    """CPU seconds / busy seconds of the workers; low means waiting for storage or for a core."""
    worker_cpu_cores: float | None = None
    """Cores that the workers computed on, on average; None where that is not recorded."""
    cores: int | None = None
    """Cores this process may use, as the run recorded them."""
    cores_wanted: float | None = None
    """Cores that trainer and workers kept busy or queued for; above ``cores`` they slow each other
    down. None where it cannot be told."""


class Evidence(Record, frozen=True):
    """One observation that the verdict rests on."""

    name: str
    """What was looked at."""
    says: str
    """One sentence with the numbers."""
    supports: bool | None
    """True for the verdict, False against it, None neither."""


class Remedy(Record, frozen=True):
    """One thing to change. Remedies are not additive: diagnose again after each."""

    kind: Literal["setting", "copy", "hardware"]
    """Cheapest first: a setting of the job, a copy or cache of the data, other hardware."""
    action: str
    """What to do."""
    why: str
    """What it removes, with numbers."""
    gain_low: float
    """Share of the step time (saves included) that it saves at least, if ``assumes`` holds."""
    gain_high: float
    """Share of the step time that it saves at most; never more than the part it shortens."""
    assumes: str
    """What the interval rests on, as arithmetic."""
    costs: str | None = None
    """What is given up for it; None for nothing."""


class Verdict(Record, frozen=True):
    """What holds the run back, how sure that is, and what to change first."""

    header: Header
    """Its input is the digest of the telemetry."""
    bound: Bound
    """The part that holds the run back."""
    limiting_stage: str | None
    """The feed stage with most worker seconds; None without feed counters."""
    confidence: Confidence
    """high: the numbers agree and are clear of the thresholds; low: they are close or disagree."""
    sentence: str
    """The verdict for a person, with numbers."""
    change_first: str
    """The first remedy, or why there is none."""
    what_would_tell: str | None
    """When nothing can be said: what to measure next."""
    device: str | None
    """As the newest attempt recorded it; None before the first start."""
    num_workers: int | None
    """Feed workers per rank, at the end; 0 decodes in the training process."""
    batch_size: int | None
    """Clips per step, over all ranks."""
    attempts: int
    """Starts of the run: 1 when it was never resumed."""
    finished: bool
    """Whether the newest attempt came to its end."""
    steps_counted: int
    """Steps that the numbers below are taken over."""
    steps_left_out: list[LeftOutSteps]
    """Steps that they are not taken over: warm-up, done again, another setup."""
    step_seconds_mean: float | None
    """Mean step time with the share of saves in it; evaluation apart."""
    accelerator_utilisation: float | None
    """AU = compute time / total time, as MLPerf Storage defines it: compute is forward, backward
    and optimizer; total is the step time plus the standstill for saves. Not in either: warm-up
    steps and evaluation, whose waiting and computing are not told apart."""
    budget: list[Part]
    """Where the counted time went, in the order of a step."""
    rates: Rates
    """Demand, delivered and supply."""
    stages: list[Stage]
    """The feed's work, largest first."""
    skipped_clips: int
    """Clips the feed left out under its error policy, over all attempts."""
    evidence: list[Evidence]
    """For and against."""
    remedies: list[Remedy]
    """Cheapest first."""
    why_workers: str | None = None
    """Where the first number of workers and the length of the queue came from; None where the run
    did not record it."""

"""What a baseline is: a workload, the environment, and what each start of it took."""

from __future__ import annotations

import statistics

from filmgate.machine.environment.facts import Environment
from filmgate.records import Header, Record


class Workload(Record, frozen=True):
    """The fixed job: a change of any field is another job. Null where the job has no such thing."""

    job: str
    """``sample``: a small video diffusion transformer; ``train``: a small training run;
    ``command``: the user's own."""
    seed: int | None = None
    """Of weights, noise and the order of clips."""
    width: int | None = None
    """Pixels."""
    height: int | None = None
    """Pixels."""
    frames: int | None = None
    """Frames of the clip that is made or read."""
    steps: int | None = None
    """Denoising steps, or optimizer updates, of one round."""
    batch_size: int | None = None
    """Clips at once."""
    prompt: str | None = None
    """Digest of the prompt."""
    clips: str | None = None
    """Digest of the catalog of clips."""
    threads: int | None = None
    """CPU threads of torch."""
    device: str | None = None
    """``cpu`` or ``cuda``."""
    command: str | None = None
    """Digest of the user's command and its arguments."""


class Round(Record, frozen=True):
    """The job done once."""

    wall_seconds: float
    """By the clock on the wall."""
    cpu_seconds: float
    """Of all threads together; of a command, of its children too."""


class Answer(Record, frozen=True):
    """What one process came to."""

    rounds: list[Round]
    """Every round in order, the warm-up included."""
    peak_bytes: int | None
    """Most resident memory; of a command, of its largest process."""
    peak_device_bytes: int | None
    """Most memory that torch held on the GPU; null without one."""
    device_utilisation: float | None
    """Share of the time in which the GPU had work, 0 to 1, as the driver tells it."""
    result: str | None
    """Digest of what was computed; null where it is not looked at."""
    unknown: dict[str, str] = {}
    """Name of each null field -> why."""


class Start(Record, frozen=True):
    """One process of the job, from its start to its end."""

    answer: Answer
    """What it measured of itself."""
    num_warm_up: int
    """Rounds at its beginning that do not count."""
    others_cpu_share: float
    """Share of the machine's cores that other programs used meanwhile; high: wall time says
    little."""

    @property
    def counted(self) -> list[Round]:
        """The rounds that count."""
        return self.answer.rounds[self.num_warm_up :]


class Summary(Record, frozen=True):
    """The figures of a baseline; medians over its starts."""

    wall_seconds: float
    """A round."""
    wall_iqr_seconds: float | None
    """Between the quartiles of the starts; null with fewer than 4."""
    cpu_seconds: float
    """A round."""
    cpu_utilisation: float
    """CPU time / (wall time x cores)."""
    peak_bytes: int | None
    """Most resident memory of any start."""
    peak_device_bytes: int | None
    """Most GPU memory of any start."""
    device_utilisation: float | None
    """0 to 1."""
    others_cpu_share: float
    """Mean over the starts."""
    num_starts: int
    """Processes that count."""
    num_rounds: int
    """Rounds that count."""
    num_warm_up: int
    """Rounds that do not."""
    unknown: dict[str, str]
    """Name of each null field -> why."""


class Baseline(Record, frozen=True, kw_only=True):
    """What ``filmgate baseline run`` measured, with every round."""

    header: Header
    """Its inputs are the digests of the workload and of the environment."""
    note: str = ""
    """What the user says of it."""
    workload: Workload
    """What was done."""
    environment: Environment
    """With what."""
    starts: list[Start]
    """In order."""
    summary: Summary
    """The figures."""


def summarise(starts: list[Start], cores: int) -> Summary:
    """The figures of some starts, each with at least one round that counts."""
    walls = [statistics.median(r.wall_seconds for r in start.counted) for start in starts]
    cpus = [statistics.median(r.cpu_seconds for r in start.counted) for start in starts]
    quartiles = statistics.quantiles(walls, n=4) if len(walls) >= 4 else None
    wall, cpu = statistics.median(walls), statistics.median(cpus)
    utilisation = [one for s in starts if (one := s.answer.device_utilisation) is not None]
    unknown = dict(starts[0].answer.unknown)
    if quartiles is None:
        unknown["wall_iqr_seconds"] = "fewer than 4 starts"
    return Summary(
        wall_seconds=wall,
        wall_iqr_seconds=None if quartiles is None else quartiles[2] - quartiles[0],
        cpu_seconds=cpu,
        cpu_utilisation=cpu / (wall * cores),
        peak_bytes=_most([start.answer.peak_bytes for start in starts]),
        peak_device_bytes=_most([start.answer.peak_device_bytes for start in starts]),
        device_utilisation=statistics.mean(utilisation) if utilisation else None,
        others_cpu_share=statistics.mean(start.others_cpu_share for start in starts),
        num_starts=len(starts),
        num_rounds=sum(len(start.counted) for start in starts),
        num_warm_up=sum(start.num_warm_up for start in starts),
        unknown=unknown,
    )


def _most(values: list[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)

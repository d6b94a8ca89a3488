"""What a machine is held against: from a job where there is one, from the command line, or unset.

Where a need is None the rules hold.
"""

from __future__ import annotations

from filmgate.records import Record
from filmgate.spec import Job
from filmgate.units import parse_bytes

DEFAULT_QUEUE_BATCHES = 4
"""As ``limits.prefetch_batches`` begins where it is unset."""


class Needs(Record, frozen=True):
    """What is asked of the machine."""

    job: str | None = None
    """Name of the job; None: there was none, and the rules hold."""
    dataset: str | None = None
    """Absolute path of the videos."""
    checkpoints: str | None = None
    """Absolute path of the run folder."""
    second_copy: str | None = None
    """Absolute path of where checkpoints are copied to."""
    num_nodes: int = 1
    """Machines that train together."""
    cores: int | None = None
    """CPU cores that the job's own limits ask for, over all GPUs."""
    cores_from: str | None = None
    """Which keys of the job say so."""
    ram_bytes: int | None = None
    """Main memory that the job's cache and queue of batches take, at least."""
    vram_bytes: int | None = None
    """Memory that the job needs over all GPUs."""
    read_bytes_per_second: float | None = None
    """What the loader asks of the storage."""
    read_from: str | None = None
    """Where that comes from; None: from the command line, or there is none."""
    measured_read_bytes_per_second: float | None = None
    """What the storage was measured to give."""
    measured_read_from: str | None = None
    """Where that comes from; None: from the command line, or there is none."""


def needs_of(job: Job) -> Needs:
    """What the job file itself says; the rest is for the command line."""
    cores, cores_from = _cores(job)
    return Needs(job=job.job.name, cores=cores, cores_from=cores_from, ram_bytes=_ram_bytes(job))


def clip_bytes(job: Job) -> int:
    """Bytes of one clip as it travels to the training device."""
    clip = job.clip
    planes_times_two = 6 if job.data.transport == "rgb24" else 3
    return clip.frames * clip.height * clip.width * planes_times_two // 2


def _cores(job: Job) -> tuple[int | None, str | None]:
    limits = job.limits
    feed = limits.workers if limits.workers is not None else limits.cpu_budget_cores
    if feed is None:
        return None, None
    key = "limits.workers" if limits.workers is not None else "limits.cpu_budget_cores"
    if limits.train_threads is None:
        return feed + 1, f"{key}, and one for training"
    return feed + limits.train_threads, f"{key} and limits.train_threads"


def _ram_bytes(job: Job) -> int:
    """Cache and queue. The rest of a process, and weights that are offloaded, are not in it."""
    limits = job.limits
    in_memory = limits.cache if limits.cache_folder is None else None
    queue = limits.prefetch_batches or DEFAULT_QUEUE_BATCHES
    return (parse_bytes(in_memory) if in_memory else 0) + queue * job.train.batch_size * clip_bytes(
        job
    )

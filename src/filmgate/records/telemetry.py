"""What a run writes about itself, line by line: one append-only JSON Lines file.

Every line is complete or is the torn last line of a killed run; readers drop a torn line. A run
that is resumed appends: the rows of a step that was done again carry a higher ``attempt``, and
the reader keeps the newest of each step.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from filmgate.errors import UserError
from filmgate.records.base import Header


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """One line of telemetry."""

    unix_seconds: float
    """When it was written."""
    attempt: int
    """0 for the first start of the run, one more after each resume."""


class Start(Line, frozen=True, tag="start"):
    """The run (or its next attempt) begins."""

    header: Header
    step: int
    """Optimizer updates done before this attempt."""
    device: str
    """``cpu`` or the name of the GPU."""
    world_size: int
    """Number of ranks."""
    num_workers: int
    """Feed worker processes of this rank."""
    batch_size: int
    """Clips per step over all ranks."""
    clip_frames: int
    """Frames per clip."""
    clip_bytes: int
    """Bytes of one decoded clip as the trainer gets it."""
    cores: int | None = None
    """CPU cores this process may use (affinity and cgroup); None where it was not recorded."""
    train_threads: int | None = None
    """CPU threads of the training process; None where it was not recorded."""
    feed_size: str | None = None
    """Where the number of workers and the length of the queue come from; None where it was not
    recorded."""
    feed_is_automatic: bool | None = None
    """Whether they may change on the way; None where it was not recorded."""
    copy_layout: str | None = None
    """Layout of the training copy that was read; None: videos as they are."""


class Step(Line, frozen=True, tag="step"):
    """One optimizer update; the parts add up to at most ``total_seconds``."""

    step: int
    """Counts from 1."""
    epoch: float
    """Passes over the training split so far."""
    loss: float
    """Mean over the step's clips, before the update."""
    learning_rate: float
    """What the update was made with."""
    samples_digest: str
    """Digest over the video, frame indices, crop and flip of each clip in the step, in order."""
    total_seconds: float
    """Wall time from the end of the last step to the end of this one, without saves, evaluation."""
    data_wait_seconds: float
    """Blocked until the feed handed over the batch."""
    transfer_seconds: float
    """Host to device copy and conversion to float; on CPU the conversion alone."""
    forward_seconds: float
    """Model and loss, and the augmentation before them."""
    backward_seconds: float
    """Gradients."""
    optimizer_seconds: float
    """The update itself."""
    feed_queue_batches: int
    """Finished batches that were waiting when this one was asked for; 0 means the feed was late."""
    peak_host_bytes: int | None = None
    """Most memory of the training process so far; None where it was not recorded."""
    peak_device_bytes: int | None = None
    """Most GPU memory of its tensors so far; None likewise, and without a GPU."""


class FeedSnapshot(Line, frozen=True, tag="feed"):
    """The feed's counters since the start of the attempt, summed over its workers."""

    step: int
    """Optimizer updates done by then."""
    clips: int
    """Clips produced."""
    frames_delivered: int
    """Frames in those clips."""
    frames_decoded: int
    """Frames that decoders gave for them; more than delivered where clips start between entry
    points."""
    bytes_read: int | None
    """Bytes the workers' decoders asked of storage; None where the platform does not tell."""
    worker_busy_seconds: float
    """Workers' time in any stage but waiting for a slot."""
    worker_wait_seconds: float
    """Workers' time waiting for a free slot, that is for the consumer."""
    stage_seconds: dict[str, float]
    """Stage (open, decode, convert, ...) -> worker seconds spent in it."""
    skipped: int
    """Clips left out under the error policy."""
    skipped_in_run: int | None = None
    """The same since the start of the run, steps that were done again counted once; None where it
    was not recorded."""
    worker_cpu_seconds: float | None = None
    """CPU time of the workers, user and system; well below busy time means that they waited for
    storage or for a core. None where it was not recorded."""
    num_workers: int | None = None
    """Worker processes at that time; None where it was not recorded."""
    depth_batches: int | None = None
    """Batches in the making or ready at that time; None where it was not recorded."""
    numa_node: int | None = None
    """Where the workers are bound to; None where they are not."""
    clips_hot: int | None = None
    """Clips read from the hot tier of a staged catalog; None where nothing is staged."""
    clips_cold: int | None = None
    """Clips read from the cold tier of a staged catalog; None where nothing is staged."""
    bytes_hot: int | None = None
    """Part of ``bytes_read`` that went to the hot tier; None where it is not known."""
    bytes_cold: int | None = None
    """Part of ``bytes_read`` that went to the cold tier; None where it is not known."""


class Save(Line, frozen=True, tag="save"):
    """A commit was made."""

    step: int
    """Optimizer updates that the commit holds."""
    stall_seconds: float
    """How long training stood still for it."""
    bytes: int
    """Size of the commit on disk."""
    write_seconds: float | None = None
    """From the copied state to the rename, mostly beside training; None where it was not
    recorded."""


class Evaluation(Line, frozen=True, tag="evaluation"):
    """The held-out clips were scored."""

    step: int
    """Optimizer updates done by then."""
    seconds: float
    """How long it took."""
    loss: float
    """Mean over the held-out clips."""
    accuracy: float | None
    """Share of held-out clips classified right, 0..1; None where clips have no class."""
    num_clips: int
    """Held-out clips that were scored."""
    metrics: dict[str, float] = {}
    """What else was measured, by name."""


class Event(Line, frozen=True, tag="event"):
    """Something out of the ordinary that the user should know of."""

    step: int
    """Optimizer updates done by then."""
    text: str
    """One sentence."""


class Finish(Line, frozen=True, tag="finish"):
    """The run came to its end."""

    step: int
    """Optimizer updates done in all."""


AnyLine = Start | Step | FeedSnapshot | Save | Evaluation | Event | Finish


class TelemetryWriter:
    """Appends lines; each is one ``write`` call, so that a reader never sees a mixed line."""

    def __init__(self, path: Path) -> None:
        self._encoder = msgspec.json.Encoder()
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._heal_torn_line(path)

    def _heal_torn_line(self, path: Path) -> None:
        with path.open("rb") as file:
            if file.seek(0, 2) > 0:
                file.seek(-1, 2)
                if file.read(1) != b"\n":
                    os.write(self._descriptor, b"\n")

    def write(self, line: AnyLine) -> None:
        """Append one line."""
        os.write(self._descriptor, self._encoder.encode(line) + b"\n")

    def close(self) -> None:
        """Flush to disk and close."""
        os.fsync(self._descriptor)
        os.close(self._descriptor)


def read_telemetry(path: Path) -> Iterator[AnyLine]:
    """Every whole line in file order; torn lines of a killed run are passed over.

    Raises UserError when the file is missing, or a whole line is no telemetry.
    """
    decoder = msgspec.json.Decoder(AnyLine)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UserError(
            f"{path} does not exist", hint="name a run folder that `filmgate run` wrote"
        ) from None
    for number, line in enumerate(content.split(b"\n"), start=1):
        try:
            if line:
                yield decoder.decode(line)
        except msgspec.DecodeError as error:
            if _is_whole(line):
                raise UserError(
                    f"{path} line {number} is no telemetry: {error}",
                    hint="was it written by another version of filmgate?",
                ) from None


def _is_whole(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError:
        return False
    return True


def newest_steps(lines: list[AnyLine]) -> list[Step]:
    """One row per step, in step order: the row of the newest attempt."""
    newest: dict[int, Step] = {}
    for line in lines:
        if isinstance(line, Step):
            newest[line.step] = line
    return [newest[step] for step in sorted(newest)]

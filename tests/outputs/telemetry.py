"""A run's telemetry, written line by line."""

from __future__ import annotations

from pathlib import Path

from filmgate.records import Header
from filmgate.records.telemetry import Finish, Start, Step, TelemetryWriter
from filmgate.spec.load import parse_job, write_job


class Run:
    """A folder with a job that has outputs."""

    def __init__(self, folder: Path, **outputs: object) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        write_job(folder / "job.toml", parse_job({"outputs": outputs}))
        self._writer = TelemetryWriter(folder / "telemetry.jsonl")
        self._seconds = 1_700_000_000.0
        self.attempt = -1

    def start(self, step: int = 0) -> None:
        self.attempt += 1
        self._writer.write(
            Start(
                unix_seconds=self._now(), attempt=self.attempt, step=step, device="cpu",
                header=Header(schema="filmgate.telemetry", schema_version=1), world_size=1,
                num_workers=1, batch_size=2, clip_frames=4, clip_bytes=100,
            )
        )  # fmt: skip

    def steps(self, *numbers: int) -> None:
        for number in numbers:
            self._writer.write(
                Step(
                    unix_seconds=self._now(), attempt=self.attempt, step=number, epoch=0.5,
                    loss=1 / number, learning_rate=0.1, samples_digest="d", total_seconds=0.5,
                    data_wait_seconds=0.1, transfer_seconds=0.1, forward_seconds=0.1,
                    backward_seconds=0.1, optimizer_seconds=0.1, feed_queue_batches=1,
                )
            )  # fmt: skip

    def finish(self, step: int) -> None:
        self._writer.write(Finish(unix_seconds=self._now(), attempt=self.attempt, step=step))
        self._writer.close()

    def _now(self) -> float:
        self._seconds += 1
        return self._seconds

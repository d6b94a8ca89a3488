from __future__ import annotations

from pathlib import Path

import pytest

from filmgate.errors import UserError
from filmgate.records.telemetry import Finish, Step, TelemetryWriter, newest_steps, read_telemetry


def a_step(step: int, *, attempt: int = 0, loss: float = 1.0) -> Step:
    return Step(
        unix_seconds=0.0, attempt=attempt, step=step, epoch=0.0, loss=loss, learning_rate=0.1,
        samples_digest="", total_seconds=1.0, data_wait_seconds=0.1, transfer_seconds=0.1,
        forward_seconds=0.2, backward_seconds=0.3, optimizer_seconds=0.1, feed_queue_batches=2,
    )  # fmt: skip


def write(path: Path, *lines: Step | Finish) -> None:
    writer = TelemetryWriter(path)
    for line in lines:
        writer.write(line)
    writer.close()


def test_lines_read_back_in_order_and_grow_by_appending(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    write(path, a_step(1))
    write(path, a_step(2), Finish(unix_seconds=1.0, attempt=0, step=2))
    assert [line.step for line in read_telemetry(path)] == [1, 2, 2]


def test_the_torn_last_line_of_a_killed_run_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    write(path, a_step(1), a_step(2))
    path.write_bytes(path.read_bytes()[:-20])
    assert [line.step for line in read_telemetry(path)] == [1]
    write(path, a_step(2, attempt=1))
    assert [(line.step, line.attempt) for line in read_telemetry(path)] == [(1, 0), (2, 1)]


def test_the_newest_attempt_of_each_step_counts(tmp_path: Path) -> None:
    lines = [a_step(1), a_step(2, loss=5.0), a_step(2, attempt=1, loss=3.0), a_step(3, attempt=1)]
    assert [(row.step, row.loss) for row in newest_steps(list(lines))] == [(1, 1), (2, 3), (3, 1)]


def test_a_whole_line_that_is_no_telemetry_is_named(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    path.write_text('{"kind":"finish","unix_seconds":1,"attempt":0,"step":2}\n{"kind":"other"}\n')
    with pytest.raises(UserError, match="line 2"):
        list(read_telemetry(path))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        list(read_telemetry(tmp_path / "telemetry.jsonl"))

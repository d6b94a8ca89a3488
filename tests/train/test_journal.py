from __future__ import annotations

from pathlib import Path

import pytest

from filmgate.errors import UserError
from filmgate.records.telemetry import Event, Finish, read_telemetry
from filmgate.train.journal import Journal


def open_journal(path: Path) -> Journal:
    journal = Journal(path, None)
    journal.open()
    return journal


def test_each_start_of_a_run_has_the_next_attempt_number(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    for attempt in range(3):
        journal = open_journal(path)
        assert journal.attempt == attempt
        journal.write(Finish, step=0)
        journal.close()
    assert [line.attempt for line in read_telemetry(path)] == [0, 1, 2]


def test_a_line_torn_by_a_kill_does_not_stop_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    journal = open_journal(path)
    journal.write(Finish, step=1)
    journal.close()
    with path.open("ab") as file:
        file.write(b'{"kind":"finish","st')
    journal = open_journal(path)
    journal.write(Finish, step=2)
    assert [line.attempt for line in read_telemetry(path)] == [0, 1]


def test_an_event_is_recorded_with_its_step_and_told(tmp_path: Path) -> None:
    told: list[str] = []
    journal = Journal(tmp_path / "telemetry.jsonl", told.append)
    journal.open()
    journal.step = 7
    journal.tell("something odd")
    (line,) = read_telemetry(journal.path)
    assert isinstance(line, Event) and (line.step, line.text) == (7, "something odd")
    assert told == journal.events() == ["something odd"]


def test_a_place_that_cannot_be_written_is_a_users_fault(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be written"):
        open_journal(tmp_path / "nowhere" / "telemetry.jsonl")

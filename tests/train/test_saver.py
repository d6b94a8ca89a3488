from __future__ import annotations

import resource
import threading
import time
from pathlib import Path

import pytest
import torch

from filmgate.errors import UserError
from filmgate.train.commits import CommitFolder
from filmgate.train.ranks import ALONE
from filmgate.train.saver import MAX_FAILURES, Saved, Saver
from filmgate.train.storage import load_tensors

INPUTS = {"catalog": "blake3:0"}


class Place:
    """A commit folder with its saver, and what they told."""

    def __init__(self, path: Path, *, in_background: bool = True) -> None:
        self.saved: list[Saved] = []
        self.events: list[str] = []
        self.commits = CommitFolder(path, keep=2, on_event=self.events.append)
        self.commits.open()
        self.saver = Saver(
            self.commits,
            ALONE,
            in_background=in_background,
            on_saved=self.saved.append,
            on_event=self.events.append,
        )

    def newest(self) -> tuple[int, torch.Tensor]:
        commit = self.commits.newest()
        assert commit is not None
        value = torch.zeros(1000)
        load_tensors(commit.path, {"x": value}, ALONE)
        return commit.manifest.step, value


@pytest.mark.parametrize("in_background", [True, False])
def test_what_is_written_is_the_state_at_the_save(tmp_path: Path, in_background: bool) -> None:
    place = Place(tmp_path, in_background=in_background)
    state = torch.zeros(1000)
    with place.saver:
        for step in range(1, 6):
            state.fill_(step)
            place.saver.save(step, {"x": state}, {}, INPUTS)
            state.fill_(-1)
        place.saver.finish()
    step, value = place.newest()
    assert step == 5 and torch.equal(value, torch.full((1000,), 5.0))
    assert [saved.step for saved in place.saved] == [1, 2, 3, 4, 5]
    assert len(list(tmp_path.iterdir())) == 2 and place.events == []


def test_many_saves_in_the_background_hold_one_copy_of_the_state(tmp_path: Path) -> None:
    place = Place(tmp_path)
    state, peaks = {"x": torch.zeros(1_000_000)}, []
    with place.saver:
        for step in range(1, 201):
            place.saver.save(step, state, {}, INPUTS)
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        place.saver.finish()
    assert peaks[-1] - peaks[20] < 40_000, "KiB; 180 copies would be 720 000"
    assert threading.active_count() < 20


def test_training_goes_on_over_saves_that_fail_and_old_commits_stay(tmp_path: Path) -> None:
    place = Place(tmp_path / "commits")
    place.saver.save(1, {"x": torch.ones(1000)}, {}, INPUTS)
    place.saver.finish()
    away = tmp_path / "away"
    place.commits.path.rename(away)
    place.saver.save(2, {"x": torch.ones(1000)}, {}, INPUTS)
    place.saver.save(3, {"x": torch.ones(1000)}, {}, INPUTS)
    assert "the commit of step 2 failed" in place.events[0] and "goes on" in place.events[0]
    with pytest.raises(UserError, match="commits cannot be written"):
        place.saver.finish()
    away.rename(place.commits.path)
    place.saver.save(4, {"x": torch.full((1000,), 4.0)}, {}, INPUTS)
    place.saver.finish()
    assert place.newest()[0] == 4


def test_too_many_failures_in_a_row_end_the_run(tmp_path: Path) -> None:
    place = Place(tmp_path / "commits")
    place.commits.path.rmdir()
    for step in range(1, MAX_FAILURES + 1):
        place.saver.save(step, {"x": torch.ones(1000)}, {}, INPUTS)
    with pytest.raises(UserError, match="older ones are whole"):
        place.saver.save(9, {"x": torch.ones(1000)}, {}, INPUTS)


def test_an_end_waits_for_a_save_that_is_under_way(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.saver:
        place.saver.save(1, {"x": torch.full((1000,), 1.0)}, {}, INPUTS)
    time.sleep(0)
    assert place.newest()[0] == 1


def test_a_commit_that_does_not_fit_is_not_begun(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with pytest.raises(UserError, match=r"No space|do not fit"):
        place.commits.save(1, {"a": b"x"}, INPUTS, tensor_bytes=10**18)
    assert list(tmp_path.iterdir()) == []

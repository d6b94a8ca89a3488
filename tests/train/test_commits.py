from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from filmgate.errors import UserError
from filmgate.records import digest_bytes
from filmgate.train.commits import CommitFolder

PARTS = {"model.pt": bytes(range(256)) * 16, "state.json": b'{"step": 1}'}
INPUTS = {"catalog": "blake3:0"}


class Commits:
    """A commit folder and what it told."""

    def __init__(self, path: Path, keep: int = 2) -> None:
        self.events: list[str] = []
        self.folder = CommitFolder(path, keep=keep, on_event=self.events.append)
        self.folder.open()

    def save(self, *steps: int) -> None:
        for step in steps:
            self.folder.save(step, PARTS | {"step": str(step).encode()}, INPUTS)

    def newest_step(self) -> int | None:
        commit = self.folder.newest()
        if commit is None:
            return None
        assert commit.parts == PARTS | {"step": str(commit.manifest.step).encode()}
        return commit.manifest.step


@pytest.fixture
def commits(tmp_path: Path) -> Commits:
    return Commits(tmp_path / "commits")


def names(commits: Commits) -> list[str]:
    return sorted(path.name for path in commits.folder.path.iterdir())


def test_an_empty_folder_has_no_commit(commits: Commits) -> None:
    assert commits.newest_step() is None
    assert commits.events == []


def test_the_newest_commit_comes_back_byte_for_byte(commits: Commits) -> None:
    commits.save(25, 50)
    newest = commits.folder.newest()
    assert newest is not None
    assert newest.manifest.header.inputs == INPUTS
    assert commits.newest_step() == 50


def test_only_as_many_commits_as_asked_for_are_kept(commits: Commits) -> None:
    commits.save(25, 50, 75, 100)
    assert names(commits) == ["step-00000075", "step-00000100"]


@pytest.mark.parametrize(
    "name", ["model.pt", "state.json", "step", "manifest.json", "manifest.digest"]
)
def test_one_flipped_bit_anywhere_is_found_and_the_commit_before_is_used(
    commits: Commits, name: str
) -> None:
    for step, place in ((2, 0.0), (3, 0.5), (4, 0.999)):
        commits.save(1, step) if not names(commits) else commits.save(step)
        path = commits.folder.path / f"step-{step:08d}" / name
        content = bytearray(path.read_bytes())
        content[int(place * len(content))] ^= 1
        path.write_bytes(content)
        assert commits.newest_step() == 1
        assert (commits.folder.path / f"step-{step:08d}.damaged" / name).read_bytes() == content
        assert f"step-{step:08d} is damaged" in commits.events[-1]


@pytest.mark.parametrize("name", ["model.pt", "manifest.json", "manifest.digest"])
@pytest.mark.parametrize("harm", ["missing", "short", "long"])
def test_a_missing_or_cut_or_grown_file_is_found(commits: Commits, name: str, harm: str) -> None:
    commits.save(1, 2)
    path = commits.folder.path / "step-00000002" / name
    content = path.read_bytes()
    if harm == "missing":
        path.unlink()
    else:
        path.write_bytes(content[:-1] if harm == "short" else content + b"\0")
    assert commits.newest_step() == 1
    assert names(commits) == ["step-00000001", "step-00000002.damaged"]


def test_damaged_commits_are_never_removed_nor_overwritten(commits: Commits) -> None:
    for number in range(3):
        commits.save(2)
        (commits.folder.path / "step-00000002" / "model.pt").write_bytes(bytes([number]))
        assert commits.newest_step() is None
    commits.save(3, 4, 5, 6)
    assert names(commits)[:3] == [
        "step-00000002.damaged",
        "step-00000002.damaged-2",
        "step-00000002.damaged-3",
    ]


def test_a_commit_of_another_layout_is_refused_and_not_called_damaged(commits: Commits) -> None:
    commits.save(1)
    folder = commits.folder.path / "step-00000001"
    described = (folder / "manifest.json").read_bytes()
    described = described.replace(b'"schema_version": 2', b'"schema_version": 3')
    (folder / "manifest.json").write_bytes(described)
    (folder / "manifest.digest").write_text(digest_bytes(described))
    with pytest.raises(UserError, match="layout 3"):
        commits.newest_step()
    assert names(commits) == ["step-00000001"]


def test_leftovers_of_killed_saves_are_removed_at_the_start(commits: Commits) -> None:
    commits.save(1)
    (commits.folder.path / ".saving-step-00000002-abc").mkdir()
    (commits.folder.path / ".removing-step-00000000").mkdir()
    again = Commits(commits.folder.path)
    assert names(again) == ["step-00000001"]
    assert len(again.events) == 2


WRITE_TOO_MUCH = """
import resource, sys
from pathlib import Path
from filmgate.errors import UserError
from filmgate.records import digest_bytes
from filmgate.train.commits import CommitFolder
folder = CommitFolder(Path(sys.argv[1]), keep=2, on_event=print)
folder.save(1, {"model.pt": b"small"}, {})
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    folder.save(2, {"model.pt": bytes(20_000)}, {})
except UserError as error:
    print("error:", error.message, "hint:", error.hint)
"""


def test_a_full_disk_is_said_and_leaves_the_older_commits_as_they_were(commits: Commits) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WRITE_TOO_MUCH, str(commits.folder.path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "error: commits cannot be written" in done.stdout
    assert "hint: free some space" in done.stdout
    assert names(commits) == ["step-00000001"]
    newest = commits.folder.newest()
    assert newest is not None and newest.parts == {"model.pt": b"small"}


def test_a_folder_that_cannot_be_made_is_a_users_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot be written"):
        Commits(tmp_path / "file" / "commits")


SAVE_FOR_EVER = """
import sys
from pathlib import Path
from filmgate.train.commits import CommitFolder
folder = CommitFolder(Path(sys.argv[1]), keep=2, on_event=print)
folder.open()
newest = folder.newest()
step = newest.manifest.step if newest else 0
print("ready", flush=True)
while True:
    step += 1
    folder.save(step, {"model.pt": bytes([step % 256]) * 400_000, "step": str(step).encode()}, {})
    print(step, flush=True)
"""


def saving_process(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SAVE_FOR_EVER, str(path)], stdout=subprocess.PIPE, text=True
    )


def test_a_kill_at_any_point_of_a_save_leaves_the_newest_commit_loadable(tmp_path: Path) -> None:
    waits = random.Random(7)
    reached, num_mid_save = 0, 0
    for _ in range(15):
        with saving_process(tmp_path) as process:
            assert process.stdout is not None
            assert any(line.startswith("ready") for line in process.stdout)
            reached = int(next(process.stdout))
            started = time.perf_counter()
            reached = int(next(process.stdout))
            time.sleep(waits.uniform(0, time.perf_counter() - started))
            os.kill(process.pid, signal.SIGKILL)
            reached = max([reached, *_steps(process.stdout)])
        num_mid_save += any(path.name.startswith(".saving-") for path in tmp_path.iterdir())
        events: list[str] = []
        folder = CommitFolder(tmp_path, keep=2, on_event=events.append)
        newest = folder.newest()
        step = newest.manifest.step if newest else 0
        # What was told to be saved is there; the save that was going on may be there as well.
        assert step in (reached, reached + 1)
        assert not any("damaged" in event for event in events)
    assert num_mid_save > 0


def _steps(lines: Iterator[str] | object) -> list[int]:
    assert isinstance(lines, Iterator)
    return [int(line) for line in lines if line.strip().isdigit()]

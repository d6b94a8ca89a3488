"""Kills at random moments in and around saves, many of them."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from filmgate.train.commits import CommitFolder
from filmgate.train.ranks import ALONE
from filmgate.train.storage import tensor_sizes
from tests.patience import PATIENT_SECONDS

SAVER = """
import os, sys
from pathlib import Path
import torch
from filmgate.train.commits import CommitFolder
from filmgate.train.ranks import ALONE
from filmgate.train.saver import Saver

commits = CommitFolder(Path(sys.argv[1]), keep=2, on_event=print)
print("ready", flush=True)
for line in sys.stdin:
    if os.fork() == 0:
        commits.open()
        newest = commits.newest()
        step = newest.manifest.step if newest else 0
        state = torch.zeros(200_000)
        saver = Saver(
            commits, ALONE, in_background=True, on_event=print,
            on_saved=lambda saved: print("saved", saved.step, flush=True),
        )
        print("child", os.getpid(), flush=True)
        while True:
            step += 1
            saver.save(step, {"x": state.fill_(step)}, {"step": str(step).encode()}, {})
    os.wait()
    print("gone", flush=True)
"""


def kill_many(folder: Path, num_kills: int, seed: int) -> tuple[int, list[str]]:
    """Kills in a row over one folder: how many left a commit under way, and what was wrong."""
    moments, wrong, num_under_way = random.Random(seed), [], 0
    (folder / "saver.py").write_text(SAVER)
    process = subprocess.Popen(
        [sys.executable, str(folder / "saver.py"), str(folder / "commits")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": ""},
    )  # fmt: skip
    with process:
        assert process.stdin is not None and process.stdout is not None
        deadline, durable = time.monotonic() + 4 * PATIENT_SECONDS, 0
        try:
            assert process.stdout.readline() == "ready\n"
            for _ in range(num_kills):
                process.stdin.write("go\n")
                process.stdin.flush()
                child = _child(process.stdout)
                time.sleep(moments.uniform(0.0, 0.1))
                subprocess.run(["kill", f"-{signal.SIGKILL.value}", child], check=True)
                durable = max(durable, _last_saved(process.stdout))
                num_under_way += any((folder / "commits").glob(".saving-*"))
                wrong += _wrong_with(folder / "commits", durable)
                assert time.monotonic() < deadline
        finally:
            process.stdin.close()
            process.kill()
    return num_under_way, wrong


def _child(lines: object) -> str:
    for line in lines:  # type: ignore[attr-defined]
        if line.startswith("child "):
            return str(line.split()[1])
    raise AssertionError("the saver ended")


def _last_saved(lines: object) -> int:
    """The last step that was said to be durable before the child was gone."""
    last = 0
    for line in lines:  # type: ignore[attr-defined]
        if line.startswith("saved "):
            last = int(line.split()[1])
        if line == "gone\n":
            return last
    raise AssertionError("the saver ended")


def _wrong_with(folder: Path, durable: int) -> list[str]:
    events: list[str] = []
    commits = CommitFolder(folder, keep=2, on_event=events.append, ranks=ALONE)
    commits.open()
    newest = commits.newest()
    if newest is None:
        return [f"no commit, and {durable} was durable"] if durable else []
    step = newest.manifest.step
    wrong = [event for event in events if "damaged" in event]
    if step < durable or newest.parts["step"] != str(step).encode():
        wrong.append(f"step {step}, and {durable} was durable")
    if tensor_sizes(newest.path) != {"x": (200_000,)}:
        wrong.append("other tensors")
    return wrong


def test_some_kills_in_and_around_saves_lose_no_commit(tmp_path: Path) -> None:
    _, wrong = kill_many(tmp_path, 12, seed=1)
    assert wrong == []


@pytest.mark.slow
def test_two_hundred_kills_in_and_around_saves_lose_no_commit(tmp_path: Path) -> None:
    num_under_way, wrong = kill_many(tmp_path, 200, seed=2)
    assert wrong == []
    assert num_under_way >= 20, "else the kills missed the saves"

"""What a commit costs training, and how fast it is written and read against the raw disk.

    python -m benchmarks.checkpoint [--gigabytes N] [--rounds N] [--folder PATH]

In each round, in turns, on the same disk: a synchronous, fsynced ``torch.save`` of the state; the
stall of a commit in the background, whose copy of the state was made once before; the same bytes
written raw (1 MiB blocks, fsync) against the write of the commit; and, from a cold page cache
(``posix_fadvise``), the file read raw against the commit checked and loaded. Medians of the rounds'
ratios; every round is in the JSON. About 5 minutes for 1 GB on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from filmgate.train.commits import CommitFolder
from filmgate.train.ranks import ALONE
from filmgate.train.saver import Saved, Saver
from filmgate.train.storage import load_tensors

BLOCK_BYTES = 1 << 20
TENSORS = 64
STALL_BAR, THROUGHPUT_BAR = 0.2, 0.7


def main() -> int:
    parser = argparse.ArgumentParser(description="What a commit costs.")
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=None)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder, prefix="filmgate-checkpoint-") as folder:
        state = _state(asked.gigabytes)
        rounds = _rounds(Path(folder), state, asked.rounds)
    medians = {
        name: statistics.median(one[name] for one in rounds)
        for name in ("stall_share", "write_ratio", "read_ratio")
    }
    holds = medians["stall_share"] < STALL_BAR and all(
        medians[name] >= THROUGHPUT_BAR for name in ("write_ratio", "read_ratio")
    )
    print(json.dumps({"holds": holds, **medians, "rounds": rounds, "load": os.getloadavg()}))
    return 0


def _state(gigabytes: float) -> dict[str, torch.Tensor]:
    size = int(gigabytes * 1e9 / 4 / TENSORS)
    return {f"model/{place}": torch.randn(size) for place in range(TENSORS)}


def _rounds(folder: Path, state: dict[str, torch.Tensor], number: int) -> list[dict[str, float]]:
    saved: list[Saved] = []
    commits = CommitFolder(folder / "commits", keep=2, on_event=print)
    commits.open()
    saver = Saver(
        commits, ALONE, in_background=True, on_saved=saved.append, on_event=print
    )  # fmt: skip
    saver.save(1, state, {}, {})
    saver.finish()
    rounds = []
    for place in range(number):
        synchronous = _timed(lambda: _save_and_sync(folder / "plain.pt", state))
        saver.save(place + 2, state, {}, {})
        saver.finish()
        raw_write = _timed(lambda: _write_raw(folder / "raw", saved[-1].bytes))
        _forget(folder)
        raw_read = _timed(lambda: _read_raw(folder / "raw"))
        read = _timed(lambda: _load(commits, state))
        rounds.append(
            {
                "torch_save_seconds": synchronous,
                "stall_seconds": saved[-1].stall_seconds,
                "stall_share": saved[-1].stall_seconds / synchronous,
                "write_ratio": raw_write / (saved[-1].write_seconds),
                "read_ratio": raw_read / read,
                "raw_write_seconds": raw_write,
                "raw_read_seconds": raw_read,
            }
        )
        print(rounds[-1], file=sys.stderr)
    return rounds


def _timed(do: Callable[[], object]) -> float:
    started = time.perf_counter()
    do()
    return time.perf_counter() - started


def _save_and_sync(path: Path, state: dict[str, torch.Tensor]) -> None:
    with path.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())


def _write_raw(path: Path, num_bytes: int) -> None:
    block = os.urandom(BLOCK_BYTES)
    with path.open("wb", buffering=0) as file:
        for _ in range(num_bytes // BLOCK_BYTES):
            file.write(block)
        os.fsync(file.fileno())


def _read_raw(path: Path) -> None:
    block = memoryview(bytearray(BLOCK_BYTES))
    with path.open("rb", buffering=0) as file:
        while file.readinto(block):
            pass


def _load(commits: CommitFolder, state: dict[str, torch.Tensor]) -> None:
    commit = commits.newest()
    assert commit is not None
    load_tensors(commit.path, state, ALONE)


def _forget(folder: Path) -> None:
    """Have the page cache drop the files."""
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main())

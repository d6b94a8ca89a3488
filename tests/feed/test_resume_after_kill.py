"""kill -9 at any step, again and again: the rest, for any workers and ranks, is as without it."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from filmgate.catalog import Catalog
from filmgate.feed import Batch, open_feed
from tests.feed.conftest import is_alive, job_of, wait_until
from tests.feed.test_feed import all_same, batches, same, take
from tests.patience import PATIENT_SECONDS

PROGRAM = """
import json, os, sys
sys.path.insert(0, {root!r})
from filmgate.catalog import open_catalog
from filmgate.feed import open_feed
from tests.feed.conftest import job_of

feed = open_feed(job_of({workers}, lookahead={lookahead}), open_catalog({catalog!r}))
if os.path.exists({state!r}):
    feed.load_state_dict(json.load(open({state!r})))
print(*feed.worker_process_ids, flush=True)
for batch in feed:
    print(batch.sample_start, batch.samples_digest, flush=True)
    with open({state!r} + ".part", "w") as file:
        json.dump(feed.state_dict(), file)
    os.replace({state!r} + ".part", {state!r})
"""


def run_and_kill(
    catalog: Catalog, state: Path, workers: int, lookahead: int, num_steps: int
) -> list[tuple[int, str]]:
    """What a feed gives until it is killed, which happens some time after ``num_steps`` steps."""
    root = str(Path(__file__).resolve().parents[2])
    keys = {"root": root, "catalog": str(catalog.path), "state": str(state)}
    text = PROGRAM.format(workers=workers, lookahead=lookahead, **keys)
    program = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    feed_workers = [int(word) for word in program.stdout.readline().split()]
    lines = [program.stdout.readline() for _ in range(num_steps)]
    program.send_signal(signal.SIGKILL)
    lines += program.stdout.read().splitlines()
    program.stdout.close()
    assert program.wait(PATIENT_SECONDS) == -signal.SIGKILL
    wait_until(lambda: not any(is_alive(worker) for worker in feed_workers))
    rows = [line.split() for line in lines if len(line.split()) == 2]
    return [(int(first), digest) for first, digest in rows]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_feed_killed_at_random_steps_goes_on_with_the_rest(
    catalog: Catalog, tmp_path: Path, seed: int
) -> None:
    drawn, state = random.Random(seed), tmp_path / "state.json"
    seen: dict[int, str] = {}
    for workers, lookahead in ((2, 1), (0, 3), (1, 2)):
        first = json.loads(state.read_text())["next_sample"] if state.exists() else 0
        steps = run_and_kill(catalog, state, workers, lookahead, drawn.randrange(1, 5))
        assert [number for number, _ in steps] == [first + 4 * k for k in range(len(steps))]
        seen.update(steps)
    whole = batches(catalog, 3 + len(seen))
    for batch in whole[: len(seen)]:
        assert seen[batch.sample_start] == batch.samples_digest
    left = json.loads(state.read_text())
    rest = whole[left["next_sample"] // 4 :][:3]
    for world_size, workers in ((2, 1), (4, 0)):
        parts = of_ranks(catalog, left, world_size, workers, len(rest))
        assert all_same([without_digest(batch) for batch in rest], parts)


def of_ranks(
    catalog: Catalog, state: dict[str, object], world_size: int, workers: int, count: int
) -> list[Batch]:
    """The batches of all ranks, put together; what does not add up makes the test fail."""
    parts = []
    for rank in range(world_size):
        with open_feed(job_of(workers), catalog, rank=rank, world_size=world_size) as feed:
            feed.load_state_dict(state)
            parts.append(take(feed, count))
    return [joined(pieces) for pieces in zip(*parts, strict=True)]


def without_digest(batch: Batch) -> Batch:
    """A rank's digest is over its own clips, so parts cannot have that of the whole."""
    return replace(batch, samples_digest="")


def joined(pieces: tuple[Batch, ...]) -> Batch:
    first = pieces[0]
    assert all(piece.sample_start == first.sample_start for piece in pieces)
    tensors = {
        name: torch.cat([getattr(piece, name) for piece in pieces])
        for name in vars(first)
        if isinstance(getattr(first, name), torch.Tensor)
    }
    ids = [video_id for piece in pieces for video_id in piece.video_ids]
    return Batch(**tensors, video_ids=ids, sample_start=first.sample_start, samples_digest="")


def test_a_feed_resumed_twice_in_an_epoch_and_left_early_goes_on_exactly(catalog: Catalog) -> None:
    whole = batches(catalog, 3, clips_per_video=9)
    state: dict[str, object] = {}
    for workers, wanted in zip((1, 0, 2), whole, strict=True):
        with open_feed(job_of(workers, clips_per_video=9), catalog) as feed:
            if state:
                feed.load_state_dict(state)
            for batch in feed:
                assert same(batch, wanted)
                break
            state = feed.state_dict()

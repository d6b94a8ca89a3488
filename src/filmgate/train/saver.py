"""Commits made beside training: the state is copied at the save, and written by a thread.

One save is under way at a time, so that memory holds one copy of the state and no more; who comes
too early waits. What became of a save is judged at the next one, at the same step on all ranks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import torch

from filmgate.closing import Closing
from filmgate.errors import UserError
from filmgate.train.commits import CommitFolder
from filmgate.train.ranks import Ranks
from filmgate.train.storage import StateCopy, own_bytes, save_tensors

MAX_FAILURES = 3
"""Saves in a row that may fail before the run ends; the last of a run may not."""
CLOSE_SECONDS = 5.0
"""How long an end without a commit waits for one that is under way."""


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A commit that is durable."""

    step: int
    stall_seconds: float
    """How long training stood still for it."""
    bytes: int
    write_seconds: float
    """From the copied state to the rename."""


@dataclass(frozen=True, kw_only=True)
class _Save:
    """A save that was begun."""

    step: int
    stall_seconds: float
    future: Future[tuple[int, float]]


class Saver(Closing):
    """Makes the commits of one attempt.

    ``on_saved`` hears of each that is durable, and ``on_event`` a sentence of each that failed, on
    the caller's thread.
    """

    def __init__(
        self,
        commits: CommitFolder,
        ranks: Ranks,
        *,
        in_background: bool,
        on_saved: Callable[[Saved], None],
        on_event: Callable[[str], None],
    ) -> None:
        self._commits = commits
        self._ranks = ranks
        self._in_background = in_background
        self._on_saved = on_saved
        self._on_event = on_event
        self._copy = StateCopy()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="filmgate-commit")
        self._num_failures = 0
        self._under_way: _Save | None = None
        self._failure: UserError | None = None
        """Of the last save."""
        self.last_write_seconds = 0.0
        """Of the last commit that was judged; 0 before the first."""

    def save(
        self,
        step: int,
        tensors: Mapping[str, torch.Tensor],
        parts: Mapping[str, bytes],
        inputs: Mapping[str, str],
    ) -> None:
        """Begin a commit of the state as it is now.

        Raises UserError once too many saves have failed in a row.
        """
        started = time.perf_counter()
        self._await()
        staged = self._copy.take(tensors) if self._in_background else dict(tensors)

        def write() -> tuple[int, float]:
            """Bytes of the commit, and the seconds it took."""
            began = time.perf_counter()
            num_bytes = self._commits.save(
                step,
                parts,
                inputs,
                lambda folder: save_tensors(folder, staged, self._ranks),
                tensor_bytes=own_bytes(staged, self._ranks),
            )
            return num_bytes, time.perf_counter() - began

        future = self._thread.submit(write)
        if not self._in_background:
            wait([future])
        self._under_way = _Save(
            step=step, stall_seconds=time.perf_counter() - started, future=future
        )
        if not self._in_background:
            self._await()

    def finish(self) -> None:
        """Wait for what is under way. Raises UserError when the last save failed."""
        self._await()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Leave a save that is under way a moment; one that is cut off is removed at next start."""
        if self._under_way is not None:
            wait([self._under_way.future], timeout=CLOSE_SECONDS)
        self._thread.shutdown(wait=False)

    def _await(self) -> None:
        """Judge the save that is under way, once it has come to its end."""
        done, self._under_way, self._failure = self._under_way, None, None
        if done is None:
            return
        try:
            num_bytes, seconds = done.future.result()
        except UserError as failure:
            self._count(done.step, failure)
            return
        self._num_failures = 0
        self.last_write_seconds = seconds
        self._on_saved(
            Saved(
                step=done.step,
                stall_seconds=done.stall_seconds,
                bytes=num_bytes,
                write_seconds=seconds,
            )
        )

    def _count(self, step: int, failure: UserError) -> None:
        self._failure = failure
        self._num_failures += 1
        if self._num_failures >= MAX_FAILURES:
            raise failure
        self._on_event(
            f"the commit of step {step} failed ({failure.message}); training goes on, failure "
            f"{self._num_failures} in a row of {MAX_FAILURES} that end it"
        )

"""Several ranks on this machine: started, watched, stopped together, and started again.

A rank that dies takes its attempt with it: the others are ended at once, since they would wait for
it, and all start again from the newest commit. For many machines there is torchrun.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from filmgate.errors import DeadlineError, FilmgateError, Interrupted, UserError
from filmgate.train.rank_lines import RENDEZVOUS, EventLine, FaultLine, RankLine, StepLine
from filmgate.train.signals import StopRequest
from filmgate.units import counted

MAX_RESTARTS = 3
"""Attempts that may die before the run ends with an error; a step further begins to count anew."""
STOP_SECONDS = 120.0
"""How long ranks that were told to stop may take to commit."""
GRACE_SECONDS = 5.0
"""How long the others have to end by themselves once one has ended with a message."""
LOOK_SECONDS = 0.1

OnProgress = Callable[[int, int, str], None]
OnEvent = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the ranks are to do, as ``filmgate.train.rank_process`` takes it."""

    job_file: Path
    catalog: Path
    run_folder: Path
    num_ranks: int


def train_on_ranks(request: Request, on_progress: OnProgress, on_event: OnEvent) -> None:
    """Train with several ranks to the end; the result is in ``train.json``.

    Raises UserError for what the user can mend, Interrupted after a signal, and FilmgateError when
    ranks keep dying.
    """
    num_deaths, best_step = 0, 0
    with StopRequest() as stop:
        while True:
            attempt = _Attempt(request=request, stop=stop, on_progress=on_progress, tell=on_event)
            death = attempt.run()
            if death is None:
                return
            num_deaths = 1 if attempt.step > best_step else num_deaths + 1
            best_step = max(best_step, attempt.step)
            if num_deaths > MAX_RESTARTS:
                raise FilmgateError(
                    f"{death}; that was {counted(num_deaths, 'time')} without a step further",
                    hint="what the rank wrote before it ended is above; the commits are untouched",
                )
            on_event(f"{death}: all ranks start again from the newest commit")


@dataclass(kw_only=True)
class _Attempt:
    """From one start of the ranks to their end."""

    request: Request
    stop: StopRequest
    on_progress: OnProgress
    tell: OnEvent
    step: int = 0
    """The last that was done."""
    _ranks: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _lines: queue.SimpleQueue[RankLine] = field(default_factory=queue.SimpleQueue)
    _fault: FaultLine | None = None

    def run(self) -> str | None:
        """How a rank died; None when all came to the end. Raises as ``train_on_ranks``."""
        with tempfile.TemporaryDirectory(prefix="filmgate-ranks-") as folder:
            try:
                self._start(f"file://{folder}/meet")
                self._watch()
                return self._judge()
            finally:
                self._end_all()

    def _start(self, meeting: str) -> None:
        request, num_ranks = self.request, self.request.num_ranks
        arguments = [str(path) for path in (request.job_file, request.catalog, request.run_folder)]
        for rank in range(num_ranks):
            environment = os.environ | {
                "RANK": str(rank), "LOCAL_RANK": str(rank),
                "WORLD_SIZE": str(num_ranks), "LOCAL_WORLD_SIZE": str(num_ranks),
                RENDEZVOUS: meeting,
            }  # fmt: skip
            # All ranks are here: nobody else is to reach what they listen on.
            environment.setdefault("GLOO_SOCKET_IFNAME", "lo")
            environment.setdefault("NCCL_SOCKET_IFNAME", "lo")
            process = subprocess.Popen(
                [sys.executable, "-m", "filmgate.train.rank_process", *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            self._ranks.append(process)
            threading.Thread(target=self._read, args=(process,), daemon=True).start()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                self._lines.put(msgspec.json.decode(line, type=RankLine))

    def _watch(self) -> None:
        """Until all ranks have ended, or one has ended in a way that the others do not survive."""
        told_at: float | None = None
        while any(process.poll() is None for process in self._ranks):
            self._hear(LOOK_SECONDS)
            if self.stop.is_asked and told_at is None:
                told_at = time.monotonic()
                self._signal(signal.SIGTERM)
            if told_at is not None and time.monotonic() > told_at + STOP_SECONDS:
                raise DeadlineError(
                    f"the ranks were told to stop and did not within {STOP_SECONDS:.0f} s",
                    hint="the newest commit is whole; the same command again continues from it",
                )
            if any(process.poll() not in (None, 0) for process in self._ranks):
                self._await_rest()
                return
        self._hear(0)

    def _await_rest(self) -> None:
        """One has ended: those that were to stop with it may, those that wait for it never do."""
        codes = [process.poll() for process in self._ranks]
        is_stopping = Interrupted.exit_code in codes
        deadline = time.monotonic() + (STOP_SECONDS if is_stopping else GRACE_SECONDS)
        while any(process.poll() is None for process in self._ranks):
            self._hear(LOOK_SECONDS)
            if time.monotonic() > deadline or any(map(_is_killed, self._ranks)):
                break
        self._hear(0)

    def _hear(self, wait_seconds: float) -> None:
        """Pass on what the ranks said meanwhile."""
        try:
            line = (
                self._lines.get(timeout=wait_seconds) if wait_seconds else self._lines.get_nowait()
            )
            while True:
                self._pass_on(line)
                line = self._lines.get_nowait()
        except queue.Empty:
            return

    def _pass_on(self, line: RankLine) -> None:
        if isinstance(line, StepLine):
            self.step = line.step
            self.on_progress(line.step, line.steps, line.said)
        elif isinstance(line, EventLine):
            self.tell(line.text)
        elif self._fault is None:
            self._fault = line

    def _judge(self) -> str | None:
        codes = [process.poll() for process in self._ranks]
        if all(code == 0 for code in codes):
            return None
        fault = self._fault
        if Interrupted.exit_code in codes and fault is not None:
            raise Interrupted(fault.message, hint=fault.hint)
        if fault is not None:
            raise UserError(fault.message, hint=fault.hint)
        killed = [rank for rank, process in enumerate(self._ranks) if _is_killed(process)]
        rank = (killed or [place for place, code in enumerate(codes) if code not in (None, 0)])[0]
        return f"rank {rank} ended with {_how(codes[rank])} after step {self.step}"

    def _signal(self, number: signal.Signals) -> None:
        for process in self._ranks:
            if process.poll() is None:
                process.send_signal(number)

    def _end_all(self) -> None:
        """Nobody stays, whatever happened."""
        self._signal(signal.SIGKILL)
        for process in self._ranks:
            process.wait()


def _is_killed(process: subprocess.Popen[bytes]) -> bool:
    """By a signal, which leaves the others waiting."""
    code = process.poll()
    return code is not None and code < 0


def _how(code: int | None) -> str:
    return f"exit code {code}" if code is None or code >= 0 else signal.Signals(-code).name

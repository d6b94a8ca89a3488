"""The worker processes of a feed: started, given tasks, watched, replaced, ended.

Everything here runs on one thread, the pump's. A worker holds at most two visits, the one it is at
and the next, so that it does not wait for the feed's process between clips. Each has a pipe of its
own: a worker that is killed at any moment cannot leave a lock held or a queue torn for the others.
"""

from __future__ import annotations

import signal
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait

from filmgate.errors import FeedError, UserError
from filmgate.feed.messages import FailureKind, Fault, Made, Ready, Visit
from filmgate.feed.open_videos import MAX_OPEN_VIDEOS
from filmgate.feed.process import WorkerProcess
from filmgate.feed.sizing import VISITS_PER_WORKER

START_DEADLINE_SECONDS = 120.0
"""How long a worker may take from its start until it is ready."""
MAX_FAILED_STARTS = 3
"""Workers that may die in a row before they are ready."""
STANDSTILL_SECONDS = 0.5
"""From one look around to the next, waits apart, no more passes while the process runs."""
DEATH_DEADLINE_SECONDS = 5.0
"""How long a killed process is waited for before it is left to the kernel."""


@dataclass(frozen=True, kw_only=True)
class Lost:
    """A visit that went down with its worker."""

    visit: Visit
    fault: tuple[FailureKind, str] | None
    """What this very visit did; None for one that only waited behind it."""


Event = Made | Lost


@dataclass(kw_only=True, eq=False)
class _Worker:
    process: WorkerProcess
    visits: deque[Visit] = field(default_factory=deque)
    is_ready: bool = False
    since: float = field(default_factory=time.monotonic)
    """When it was started, and once it is ready, when it began the first of its visits or ran out
    of them."""
    videos: OrderedDict[int, None] = field(default_factory=OrderedDict)
    """Rows of the videos that it visited last, about those whose decoders it keeps."""

    @property
    def is_idle(self) -> bool:
        """Whether it could do something and has nothing."""
        return self.is_ready and not self.visits

    def note_video(self, video: int) -> None:
        """It visits the video."""
        self.videos[video] = None
        self.videos.move_to_end(video)
        if len(self.videos) > MAX_OPEN_VIDEOS:
            self.videos.popitem(last=False)

    def due(self, clip_deadline_seconds: float) -> float:
        """When it has to be ready, or done with its first visit; never while it is idle."""
        if not self.is_ready:
            return self.since + START_DEADLINE_SECONDS
        if not self.visits:
            return float("inf")
        return self.since + clip_deadline_seconds * len(self.visits[0].tasks)


class Taker:
    """A worker that has room for a visit, and which videos it had better take."""

    def __init__(self, worker: _Worker, workers: list[_Worker]) -> None:
        self.worker = worker
        self._others = [other for other in workers if other is not worker]

    def suits(self, video: int) -> bool:
        """Whether it has the video open, or nobody has: so that a file is opened by few."""
        if video in self.worker.videos:
            return True
        return not any(video in other.videos for other in self._others)


class Crew:
    """``size`` workers, each made by ``start_process``; the size may change at any time."""

    def __init__(
        self,
        start_process: Callable[[], WorkerProcess],
        *,
        size: int,
        clip_deadline_seconds: float,
    ) -> None:
        self.size = size
        self._start_process = start_process
        self._clip_deadline_seconds = clip_deadline_seconds
        self._workers: list[_Worker] = []
        self._failed_starts = 0
        self._looked_at = time.monotonic()
        self._past_idle_seconds = 0.0

    @property
    def process_ids(self) -> list[int]:
        """Of the workers that run now."""
        return [worker.process.process.pid for worker in list(self._workers)]

    @property
    def idle_seconds(self) -> float:
        """How long the workers that have no task now have had none, added up."""
        idle = [worker for worker in list(self._workers) if worker.is_idle]
        return sum(time.monotonic() - worker.since for worker in idle)

    @property
    def all_idle_seconds(self) -> float:
        """How long workers have had no task, since the first was ready."""
        return self._past_idle_seconds + self.idle_seconds

    @property
    def is_starting(self) -> bool:
        """Whether a worker is not ready yet."""
        return not all(worker.is_ready for worker in self._workers)

    def fill_up(self) -> None:
        """Start workers until there are ``size`` of them; end idle ones when there are more."""
        while len(self._workers) < self.size:
            self._workers.append(_Worker(process=self._start_process()))
        while len(self._workers) > self.size:
            idle = next((worker for worker in self._workers if worker.is_idle), None)
            if idle is None:
                return  # none of them gets another visit, so soon there is one
            self._past_idle_seconds += time.monotonic() - idle.since
            self._bury(idle)

    def next_taker(self) -> Taker | None:
        """The worker that gets the next visit; None when all have enough."""
        takers = self._workers[: self.size]
        worker = min(takers, key=lambda worker: len(worker.visits), default=None)
        if worker is None or len(worker.visits) >= VISITS_PER_WORKER:
            return None
        return Taker(worker, takers)

    def give(self, visit: Visit, taker: Taker) -> None:
        """Hand it a visit."""
        worker = taker.worker
        if worker.is_idle:
            now = time.monotonic()
            self._past_idle_seconds += now - worker.since
            worker.since = now
        worker.visits.append(visit)
        if visit.video is not None:
            worker.note_video(visit.video)
        try:
            worker.process.connection.send(visit)
        except (BrokenPipeError, ConnectionResetError):
            return  # it died; its closed pipe says so to the next wait, which gives the visit back

    def wait(self, wake: Connection, timeout_seconds: float) -> list[Event]:
        """What happened up to the timeout, to the next deadline, or until ``wake`` can be read.

        Raises FeedError when workers cannot start, UserError or RuntimeError for a worker's fault.
        """
        due = min(worker.due(self._clip_deadline_seconds) for worker in self._workers)
        pipes = [worker.process.connection for worker in self._workers]
        timeout_seconds = max(0.0, min(timeout_seconds, due - time.monotonic()))
        ready = wait([wake, *pipes], timeout_seconds)
        self._forgive_standstill(timeout_seconds)
        events: list[Event] = []
        for worker in list(self._workers):
            if worker.process.connection in ready:
                events += self._hear(worker)
            elif worker.due(self._clip_deadline_seconds) <= time.monotonic():
                events += self._give_up(worker)
        return events

    def close(self) -> None:
        """End all workers at once; they hold nothing that is worth a goodbye."""
        for worker in self._workers:
            worker.process.process.kill()
        while self._workers:
            self._bury(self._workers[-1])

    def _forgive_standstill(self, waited_seconds: float) -> None:
        """Begin all clocks anew when this process stood still, and the workers perhaps with it.

        A stopped job (Ctrl-Z, a frozen container) must not cost the videos that were at work.
        """
        now = time.monotonic()
        standstill_seconds = now - self._looked_at - waited_seconds
        self._looked_at = now
        if standstill_seconds > STANDSTILL_SECONDS:
            for worker in self._workers:
                worker.since = now

    def _hear(self, worker: _Worker) -> list[Event]:
        """One message, or the end of the pipe."""
        try:
            reply = worker.process.connection.recv()
        except (EOFError, ConnectionResetError):
            return self._bury_dead(worker)
        if isinstance(reply, Fault):
            if reply.is_users:
                raise UserError(reply.message, hint=reply.hint)
            raise RuntimeError(f"a feed worker failed:\n{reply.message}")
        worker.since = time.monotonic()
        if isinstance(reply, Ready):
            worker.is_ready, self._failed_starts = True, 0
            return []
        assert worker.visits.popleft().tasks == tuple(made.task for made in reply)
        return list(reply)

    def _bury_dead(self, worker: _Worker) -> list[Event]:
        exit_code = self._bury(worker)
        if worker.is_ready:
            return _losses(worker, ("crash", f"its worker died ({cause_of_death(exit_code)})"))
        self._failed_starts += 1
        if self._failed_starts >= MAX_FAILED_STARTS:
            raise FeedError(
                f"feed workers die while they start ({cause_of_death(exit_code)}), "
                f"{self._failed_starts} in a row",
                hint="what they said stands above; workers = 0 in [limits] does without them",
            )
        return _losses(worker, None)

    def _give_up(self, worker: _Worker) -> list[Event]:
        """End a worker that is past its deadline."""
        worker.process.process.kill()
        self._bury(worker)
        if not worker.is_ready:
            raise FeedError(
                f"a feed worker was not ready after {START_DEADLINE_SECONDS:g} s",
                hint="is the machine overloaded, or the file system of the program very slow?",
            )
        return _losses(worker, ("deadline", f"took longer than {self._clip_deadline_seconds:g} s"))

    def _bury(self, worker: _Worker) -> int | None:
        """Take a dead or dying worker out; its exit code, None when the kernel still holds it."""
        self._workers.remove(worker)
        return worker.process.end(DEATH_DEADLINE_SECONDS)


def _losses(worker: _Worker, fault: tuple[FailureKind, str] | None) -> list[Event]:
    """Last visit first, so that putting each back at the front restores their order.

    The first visit is the one the worker was at; the others only waited.
    """
    lost: list[Event] = [
        Lost(visit=visit, fault=fault if place == 0 else None)
        for place, visit in enumerate(worker.visits)
    ]
    return lost[::-1]


def cause_of_death(exit_code: int | None) -> str:
    """``SIGKILL``, ``exit code 1``."""
    if exit_code is None or exit_code >= 0:
        return f"exit code {exit_code}"
    return signal.Signals(-exit_code).name

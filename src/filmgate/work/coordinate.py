"""``do_work``: every task of a list done exactly once, whatever is killed on the way."""

from __future__ import annotations

import heapq
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Generic

import msgspec

from filmgate.errors import UserError
from filmgate.work.attempt import Answer, Fault, Function, Order
from filmgate.work.budget import Budget, stop_for
from filmgate.work.executor import Executor
from filmgate.work.folder import WorkFolder
from filmgate.work.lines import Failed, Finished, Output
from filmgate.work.local import LocalExecutor
from filmgate.work.progress import Counter
from filmgate.work.task import Limits, OnProgress, Outcome, Payload, Row, Task, check_tasks

COMMIT_SECONDS = 0.5
"""What is answered within this time shares one fsync; a kill costs at most this much."""
POLL_SECONDS = 1.0


def do_work(
    function: Function,
    tasks: Sequence[Task[Payload]],
    folder: Path,
    *,
    row: type[Row],
    executor: Executor | None = None,
    limits: Limits | None = None,
    retry_quarantined: bool = False,
    on_progress: OnProgress | None = None,
) -> Iterator[Outcome[Payload, Row]]:
    """The outcome of every task, each exactly once: first what an earlier start has done.

    ``function(payload, place)`` is a module-level function; it writes each output to
    ``place.path(output)`` and returns a record of type ``row``. Its files are in place below
    ``folder`` when the outcome comes. The work goes on only while the outcomes are asked for;
    leaving early ends it cleanly, and the same call goes on from there. Tasks run on one process
    per core unless an ``executor`` is given.

    A task is quarantined, and its outcome has a fault, when it raises FilmgateError or an OSError
    that stays, or when it crashes, is late or meets a fault that may pass ``limits.attempts``
    times. Raises UserError when the folder is full, cannot be written or is being worked on;
    WorkError past the error budget; and whatever else the function raises, for that is a fault of
    the program. ValueError when two tasks share a key or an output.
    """
    check_tasks(tasks)
    work = _Work(
        function=function,
        tasks=tasks,
        folder=folder,
        row=row,
        executor=executor if executor is not None else LocalExecutor(),
        limits=limits if limits is not None else Limits(),
    )
    return work.outcomes(retry_quarantined, on_progress)


class _Work(Generic[Payload, Row]):
    """One start of a work."""

    def __init__(
        self,
        *,
        function: Function,
        tasks: Sequence[Task[Payload]],
        folder: Path,
        row: type[Row],
        executor: Executor,
        limits: Limits,
    ) -> None:
        self._function = function
        self._tasks = tasks
        self._path = folder
        self._folder = WorkFolder(folder)
        self._decoder = msgspec.json.Decoder(row)
        self._executor = executor
        self._limits = limits
        self._pending: list[int] = []
        """Tasks that wait, the next one last."""
        self._retries: list[tuple[float, int]] = []
        """When to try again, and which task: a heap."""
        self._tries: dict[int, int] = {}
        """Task -> its failed attempts so far."""
        self._running: set[int] = set()
        self._answers: list[tuple[Finished | Failed, int]] = []
        """Not yet committed: what is to be written, and of which task."""
        self._commit_at = 0.0

    def outcomes(
        self, retry_quarantined: bool, on_progress: OnProgress | None
    ) -> Iterator[Outcome[Payload, Row]]:
        """Known ones, then new ones."""
        bytes_total = sum(task.size_bytes for task in self._tasks)
        counter = Counter(len(self._tasks), bytes_total)
        budget = Budget(self._limits, len(self._tasks))
        self._folder.open()
        try:
            for outcome in self._known(retry_quarantined):
                _count(counter, outcome)
                yield outcome
                budget.count(outcome)
            with closing(self._new()) as new:
                for outcome in new:
                    _count(counter, outcome)
                    if on_progress is not None:
                        on_progress(counter.progress())
                    yield outcome
                    budget.count(outcome)
        finally:
            self._folder.close()

    def _known(self, retry_quarantined: bool) -> Iterator[Outcome[Payload, Row]]:
        """Outcomes of an earlier start; what is left goes to ``_pending``."""
        void: list[str] = []
        for index, task in enumerate(self._tasks):
            finished = self._folder.journal.finished(task.key)
            failed = self._folder.journal.failed(task.key)
            if finished is not None and self._folder.is_intact(finished, task):
                yield self._outcome(finished, index, reused=True)
                continue
            if failed is not None and failed.quarantined and not retry_quarantined:
                yield self._outcome(failed, index, reused=True)
                continue
            self._pending.append(index)
            if finished is not None or (failed is not None and failed.quarantined):
                void.append(task.key)
            elif failed is not None:
                self._tries[index] = failed.attempts
        self._pending.reverse()
        self._folder.drop(void)
        self._folder.drop_replaced(self._tasks[index] for index in self._pending)

    def _new(self) -> Generator[Outcome[Payload, Row], None, None]:
        """Do what is pending."""
        self._folder.sweep(self._unfinished())
        if not self._pending:
            return
        self._executor.open(self._limits.deadline_seconds)
        try:
            while self._pending or self._retries or self._running or self._answers:
                self._hand_out()
                self._listen()
                is_idle = not self._pending and not self._running
                if self._answers and (is_idle or time.monotonic() >= self._commit_at):
                    yield from self._commit()
        finally:
            self._executor.close()
            # On the way out of an error: what cannot be committed now is done again.
            with suppress(UserError):
                self._commit()
            self._folder.sweep(self._unfinished())

    def _unfinished(self) -> Iterator[Task[Payload]]:
        waiting = (index for _, index in self._retries)
        for index in (*self._pending, *waiting, *self._running):
            yield self._tasks[index]

    def _hand_out(self) -> None:
        """Give orders while there is room; a task whose wait is over comes first."""
        while self._retries and self._retries[0][0] <= time.monotonic():
            self._pending.append(heapq.heappop(self._retries)[1])
        while self._pending and self._executor.has_room():
            index = self._pending.pop()
            task = self._tasks[index]
            self._running.add(index)
            self._executor.submit(
                Order(
                    ticket=index,
                    function=self._function,
                    payload=task.payload,
                    outputs=task.outputs,
                    place=self._folder.place_of(task, index, self._tries.get(index, 0)),
                    keep=task.resumable,
                    room=self._folder.room,
                    token=self._folder.token,
                )
            )

    def _listen(self) -> None:
        """Take answers; wait for one only until there is something else to do."""
        now = time.monotonic()
        timers = [self._commit_at] if self._answers else []
        timers += [self._retries[0][0]] if self._retries else []
        timeout_seconds = max(0.0, min([POLL_SECONDS, *(timer - now for timer in timers)]))
        if not self._running:
            time.sleep(timeout_seconds)
            return
        stop: Fault | None = None
        for answer in self._executor.wait(timeout_seconds):
            self._running.discard(answer.ticket)
            if answer.fault is not None and answer.fault.kind not in ("passing", "lost", "lasting"):
                stop = answer.fault
                self._pending.append(answer.ticket)
                continue
            self._take(answer)
        if stop is not None:
            raise stop_for(stop, self._path)

    def _take(self, answer: Answer) -> None:
        """Keep an answer for the next commit, and see to another try."""
        index, fault = answer.ticket, answer.fault
        tries = self._tries.pop(index, 0) + 1
        is_last = fault is not None and (fault.kind == "lasting" or tries >= self._limits.attempts)
        if not self._answers:
            self._commit_at = time.monotonic() + COMMIT_SECONDS
        self._answers.append((self._line(answer, tries, is_last), index))
        if fault is not None and (is_last or not self._tasks[index].resumable):
            self._folder.discard(answer.place)
        if fault is not None and not is_last:
            self._tries[index] = tries
            wait_seconds = self._limits.retry_seconds * 2 ** (tries - 1)
            heapq.heappush(self._retries, (time.monotonic() + wait_seconds, index))

    def _line(self, answer: Answer, tries: int, is_last: bool) -> Finished | Failed:
        task = self._tasks[answer.ticket]
        if answer.fault is not None:
            return Failed(
                key=task.key,
                name=task.name,
                attempts=tries,
                seconds=answer.seconds,
                worker=answer.worker,
                unix_seconds=time.time(),
                fault=answer.fault.words,
                quarantined=is_last,
                lost=answer.fault.kind == "lost",
            )
        return Finished(
            key=task.key,
            name=task.name,
            attempts=tries,
            seconds=answer.seconds,
            worker=answer.worker,
            unix_seconds=time.time(),
            row=msgspec.Raw(answer.row),
            outputs=[
                Output(name=name, size_bytes=size)
                for name, size in zip(task.outputs, answer.sizes, strict=True)
            ],
            place=answer.place.name if task.outputs else None,
        )

    def _commit(self) -> list[Outcome[Payload, Row]]:
        """Make durable what was answered; outcomes of the tasks that are done by it."""
        answers, self._answers = self._answers, []
        self._folder.commit([line for line, _ in answers])
        return [
            self._outcome(line, index, reused=False)
            for line, index in answers
            if isinstance(line, Finished) or line.quarantined
        ]

    def _outcome(
        self, line: Finished | Failed, index: int, *, reused: bool
    ) -> Outcome[Payload, Row]:
        row = self._decoder.decode(line.row) if isinstance(line, Finished) else None
        return Outcome(
            task=self._tasks[index],
            row=row,
            fault=line.fault if isinstance(line, Failed) else None,
            is_lost=isinstance(line, Failed) and line.lost,
            attempts=line.attempts,
            seconds=line.seconds,
            worker=line.worker,
            reused=reused,
        )


def _count(counter: Counter, outcome: Outcome[Payload, Row]) -> None:
    counter.count(
        outcome.task.size_bytes, reused=outcome.reused, quarantined=outcome.fault is not None
    )

"""Attempts in worker processes of this machine."""

from __future__ import annotations

from collections import deque
from typing import cast

from filmgate.work.attempt import Answer, Order, attempt, lost
from filmgate.work.cores import num_usable_cores
from filmgate.work.pool import Return, WorkerPool


class LocalExecutor:
    """``workers`` processes, started when there is something for them to do."""

    def __init__(self, workers: int | None = None) -> None:
        """One worker for each usable core by default. With 0, attempts are made here: no process,
        no deadline, no shelter from a crash."""
        self._num_workers = num_usable_cores() if workers is None else workers
        self._pool = WorkerPool(0, 0.0)
        self._orders: dict[int, Order] = {}
        self._here: deque[Order] = deque()

    def open(self, deadline_seconds: float) -> None:
        """Get ready; an attempt may take ``deadline_seconds``."""
        self._pool = WorkerPool(self._num_workers, deadline_seconds)
        self._pool.open()

    def has_room(self) -> bool:
        """Whether one more order would be begun at once."""
        return not self._here if self._num_workers == 0 else self._pool.has_room()

    def submit(self, order: Order) -> None:
        """Begin an attempt. Raises ValueError for a function of the main script."""
        if self._num_workers == 0:
            self._here.append(order)
            return
        if order.function.__module__ == "__main__":
            raise ValueError("the function has to stand in a module, not in the main script")
        self._orders[order.ticket] = order
        self._pool.submit(order.ticket, attempt, order)

    def wait(self, timeout_seconds: float) -> list[Answer]:
        """Answers of workers that have answered, died or gone past the deadline."""
        if self._here:
            return [attempt(self._here.popleft())]
        return [self._answer(one) for one in self._pool.wait(timeout_seconds)]

    def close(self) -> None:
        """End every worker, and what its tasks have started."""
        self._pool.close()
        self._orders.clear()
        self._here.clear()

    def _answer(self, ended: Return) -> Answer:
        order = self._orders.pop(ended.ticket)
        if ended.error is not None:
            raise ended.error  # the attempt answers for itself: a fault of the program
        if ended.loss is not None:
            return lost(order, ended.loss, ended.seconds)
        return cast(Answer, ended.value)

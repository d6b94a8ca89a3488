"""The folder of a work: what is finished in it, and how something more becomes finished."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from filmgate.errors import UserError
from filmgate.records.files import remove_unfinished
from filmgate.work.journal import Journal, short_key
from filmgate.work.lines import Dropped, Failed, Finished, Published
from filmgate.work.lock import FolderLock
from filmgate.work.place import is_owned, remove_place
from filmgate.work.publish import Publisher
from filmgate.work.task import JOURNAL_FILE, ROOM, Task


class WorkFolder:
    """Held by one coordinator from ``open`` to ``close``."""

    def __init__(self, folder: Path) -> None:
        self.room = folder / ROOM
        self.places = self.room / "places"
        self.journal = Journal(self.room / JOURNAL_FILE)
        self._folder = folder
        self._lock = FolderLock(self.room)
        self._publisher = Publisher(folder, self.places)

    @property
    def token(self) -> str:
        """Names this holder of the folder."""
        return self._lock.token

    def open(self) -> None:
        """Take the folder, and finish what a killed start was publishing.

        Raises UserError when another coordinator has it, it cannot be written, or its journal is
        damaged.
        """
        try:
            self.places.mkdir(parents=True, exist_ok=True)
            self._lock.take()
        except OSError as error:
            raise UserError(
                f"{self._folder} cannot be written: {error.strerror}", hint="name another folder"
            ) from None
        try:
            remove_unfinished(self.room)
            self.journal.open()
            self._publish(self.journal.unpublished())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let others have it."""
        self.journal.close()
        self._lock.release()

    def is_intact(self, line: Finished, task: Task[Any]) -> bool:
        """Whether the files of a finished task are those that are asked for, and all there."""
        names = tuple(output.name for output in line.outputs)
        return names == task.outputs and self._publisher.is_published(line)

    def drop(self, keys: list[str]) -> None:
        """Count these tasks as not done."""
        if keys:
            self.journal.append([Dropped(keys=keys)])

    def drop_replaced(self, pending: Iterable[Task[Any]]) -> None:
        """Drop finished tasks under whose names pending ones will publish."""
        names = {output for task in pending for output in task.outputs}
        if names:
            finished = self.journal.all_finished()
            replaced = (t.key for t in finished if any(o.name in names for o in t.outputs))
            self.drop(list(replaced))

    def commit(self, lines: Sequence[Finished | Failed]) -> None:
        """Make outcomes durable: journal, files in place, journal.

        Raises UserError when the disk does not take them; then the files of the finished tasks
        are put in place by the next start, or the tasks done again.
        """
        if lines:
            self.journal.append(lines)
            self._publish(
                [one for one in lines if isinstance(one, Finished) and one.place is not None]
            )

    def place_of(self, task: Task[Any], ticket: int, attempts: int) -> Path:
        """Where an attempt is to write."""
        return self.places / (_kept_name(task) or f"{self.token}-{ticket}-{attempts}")

    def discard(self, place: Path) -> None:
        """Remove what a failed attempt left, unless its process still lives."""
        if not is_owned(place):
            remove_place(place)

    def sweep(self, unfinished: Iterable[Task[Any]]) -> int:
        """Remove places that no living process owns and no unfinished task will go on with.

        Returns how many are left to living processes, which are those of another coordinator
        that was killed.
        """
        kept = {name for task in unfinished if (name := _kept_name(task)) is not None}
        kept.update(line.place for line in self.journal.unpublished() if line.place is not None)
        num_owned = 0
        for place in self.places.iterdir():
            if is_owned(place):
                num_owned += 1
            elif place.name not in kept:
                remove_place(place)
        return num_owned

    def _publish(self, tasks: Sequence[Finished]) -> None:
        if not tasks:
            return
        self._publisher.publish(list(tasks))
        there = [task for task in tasks if self._publisher.is_published(task)]
        self.drop([task.key for task in tasks if task not in there])
        self.journal.append([Published(keys=[task.key for task in there])], durable=False)
        for task in tasks:
            assert task.place is not None
            remove_place(self.places / task.place)


def _kept_name(task: Task[Any]) -> str | None:
    return f"kept-{short_key(task.key).hex()}" if task.resumable else None

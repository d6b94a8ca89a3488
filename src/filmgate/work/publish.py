"""Putting the files of finished tasks in place: the coordinator alone does it, by rename."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from filmgate.errors import UserError
from filmgate.records.files import fsync_folder
from filmgate.work.lines import Finished
from filmgate.work.place import written_file


class Publisher:
    """Moves files from the places of attempts to their names below the folder."""

    def __init__(self, folder: Path, places: Path) -> None:
        self._folder = folder
        self._places = places
        self._known_folders = {folder}

    def publish(self, tasks: list[Finished]) -> None:
        """Put the files of the tasks in place, also those that a killed start had begun with.

        The first files of every task are hard on disk before the last of any appears. Raises
        UserError when a file cannot be put in place.
        """
        try:
            self._publish(tasks)
        except OSError as error:
            raise _cannot_publish(self._folder, error) from None

    def _publish(self, tasks: list[Finished]) -> None:
        several = [task for task in tasks if len(task.outputs) > 1]
        for task in several:
            self._retract_last(task)
        self._fsync(
            self._move(task, output.name) for task in several for output in task.outputs[:-1]
        )
        self._fsync(self._move(task, task.outputs[-1].name) for task in tasks if task.outputs)

    def is_published(self, task: Finished) -> bool:
        """Whether every file of the task is there, as long as it was written."""
        return all(
            _size_of(self._folder / output.name) == output.size_bytes for output in task.outputs
        )

    def _retract_last(self, task: Finished) -> None:
        """Take away an older last file, so that nobody takes it for the sign of the new ones."""
        last = task.outputs[-1].name
        if self._written(task, last).exists():
            (self._folder / last).unlink(missing_ok=True)

    def _move(self, task: Finished, output: str) -> Path:
        source, final = self._written(task, output), self._folder / output
        self._make(final.parent)
        with suppress(FileNotFoundError):  # an earlier start had moved it; is_published tells
            source.replace(final)
        return final.parent

    def _written(self, task: Finished, output: str) -> Path:
        assert task.place is not None
        return written_file(self._places / task.place, output)

    def _make(self, folder: Path) -> None:
        if folder in self._known_folders:
            return
        self._make(folder.parent)
        folder.mkdir(exist_ok=True)
        fsync_folder(folder.parent)
        self._known_folders.add(folder)

    def _fsync(self, folders: Iterable[Path]) -> None:
        for folder in set(folders):
            fsync_folder(folder)


def _size_of(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _cannot_publish(folder: Path, error: OSError) -> UserError:
    where = error.filename2 or error.filename or folder
    if error.errno == errno.EXDEV:
        return UserError(
            f"{where} is on another file system than {folder}",
            hint="mount nothing below the output folder, or name the mounted folder itself",
        )
    return UserError(
        f"{where} cannot be put in place: {error.strerror}",
        hint="mend that, then start again; what is finished is kept",
    )

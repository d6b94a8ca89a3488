"""Where one attempt writes: a folder of its own, owned for as long as its process lives."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filmgate.records.files import fsync_folder

_OWNER = "owner"
"""File inside a place; its lock tells that the attempt lives."""
_FILES = "files"


class Place:
    """A folder for one attempt, on the file system on which its outputs will be published."""

    def __init__(self, root: Path, outputs: tuple[str, ...], *, keep: bool = False) -> None:
        self.root = root
        """The place, with the files of the room; what a task writes goes to ``folder``."""
        self._outputs = outputs
        self._keep = keep
        self._descriptor = -1

    @property
    def folder(self) -> Path:
        """The folder, made when first asked for; whatever is no output is thrown away."""
        if self._descriptor < 0:
            self.root, self._descriptor = _claim(self.root)
            if not self._keep:
                shutil.rmtree(self.root / _FILES, ignore_errors=True)
        folder = self.root / _FILES
        folder.mkdir(exist_ok=True)
        return folder

    def path(self, output: str) -> Path:
        """Where to write the file that will be published as ``output``; its folder exists.

        Raises ValueError for a name that is none of the task's outputs.
        """
        if output not in self._outputs:
            raise ValueError(f"{output!r} is none of the task's outputs {self._outputs}")
        path = self.folder / output
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def leave(self) -> None:
        """Own it no longer; one from which nothing will be published is removed."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        if not self._outputs and not self._keep:
            remove_place(self.root)

    def harden(self) -> list[int]:
        """Make the outputs survive a power cut; the size of each, in bytes.

        Raises ValueError when one was not written.
        """
        sizes = []
        for output in self._outputs:
            path = self.path(output)
            if not path.exists():
                raise ValueError(f"the task did not write its output {output!r}")
            descriptor = os.open(path, os.O_RDONLY)
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise ValueError(f"output {output!r} is no file")
                os.fsync(descriptor)
                sizes.append(status.st_size)
            finally:
                os.close(descriptor)
        for folder in {self.path(output).parent for output in self._outputs}:
            fsync_folder(folder)
        return sizes


@contextmanager
def owned_place(root: Path, outputs: tuple[str, ...], *, keep: bool) -> Iterator[Place]:
    """A place that nobody else owns: ``root``, or beside it when a living attempt has that.

    It is made when it is first asked for its folder, so that tasks without files cost none.
    With ``keep``, what an earlier attempt left in it is still there.
    """
    place = Place(root, outputs, keep=keep)
    try:
        yield place
    finally:
        place.leave()


def _claim(root: Path) -> tuple[Path, int]:
    while True:
        root.mkdir(exist_ok=True)
        descriptor = os.open(root / _OWNER, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            root = root.with_name(f"{root.name}-{secrets.token_hex(4)}")
            continue
        return root, descriptor


def is_owned(root: Path) -> bool:
    """Whether a living process works in a place."""
    try:
        descriptor = os.open(root / _OWNER, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def remove_place(root: Path) -> None:
    """Remove a place and all in it."""
    shutil.rmtree(root, ignore_errors=True)


def written_file(root: Path, output: str) -> Path:
    """Where the attempt in ``root`` wrote an output."""
    return root / _FILES / output

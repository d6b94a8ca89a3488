"""Files of a machine: this one's, those of an unpacked copy, or those of a capture in memory.

Paths are written without a leading slash, ``sys/block/sda/size``. Links are followed inside the
tree only, so that a copy of another machine never leads to a file of this one.
"""

from __future__ import annotations

import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path

MAX_LINKS = 40
"""As the kernel's own bound (path_resolution(7))."""
MAX_BYTES = 4 * 2**20
"""More than any file under /proc or /sys that is read here."""


class Tree(ABC):
    """Small text files under a root."""

    @abstractmethod
    def _content(self, path: str) -> bytes:
        """Bytes of a file whose path has no links."""

    @abstractmethod
    def _children(self, path: str) -> list[str]:
        """Names in a folder whose path has no links."""

    @abstractmethod
    def _link(self, path: str) -> str | None:
        """Where a link leads, as it is written; None where ``path`` is no link."""

    @abstractmethod
    def _is_there(self, path: str) -> bool:
        """Whether a path without links names a file or folder."""

    def content(self, path: str) -> bytes:
        """A file's bytes. Raises OSError, which names ``path``."""
        try:
            return self._content(self.real(path))
        except OSError as error:
            raise _named(error, path) from None

    def text(self, path: str) -> str:
        """A file's text without the space around it. Raises as ``content``."""
        return self.content(path).decode(errors="replace").strip("\0 \t\r\n")

    def number(self, path: str) -> int:
        """A file's whole number, decimal or 0x. Raises OSError, or ValueError that names it."""
        said = self.text(path)
        try:
            return int(said, 0) if said.lower().startswith("0x") else int(said)
        except ValueError:
            raise ValueError(f"/{path}: {said[:40]!r} is no whole number") from None

    def names(self, folder: str) -> list[str]:
        """Sorted names in a folder; none where there is no such folder."""
        try:
            return sorted(self._children(self.real(folder)))
        except OSError:
            return []

    def has(self, path: str) -> bool:
        """Whether the path names something."""
        try:
            return self._is_there(self.real(path))
        except OSError:
            return False

    def real(self, path: str) -> str:
        """The path with its links followed, inside the tree. Raises OSError for a loop of links."""
        done: list[str] = []
        left = _parts(path)
        for _ in range(MAX_LINKS + len(left) * 2 + 4096):
            if not left:
                return "/".join(done)
            part = left.pop(0)
            if part == "..":
                done = done[:-1]
                continue
            link = self._link("/".join([*done, part]))
            if link is None:
                done.append(part)
            else:
                left = _parts(link) + left
                done = [] if link.startswith("/") else done
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


class FolderTree(Tree):
    """A tree on disk; ``/`` is this machine."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def _content(self, path: str) -> bytes:
        with (self.root / path).open("rb") as file:
            return file.read(MAX_BYTES)

    def _children(self, path: str) -> list[str]:
        return [child.name for child in (self.root / path).iterdir()]

    def _link(self, path: str) -> str | None:
        try:
            return str((self.root / path).readlink())
        except OSError:
            return None

    def _is_there(self, path: str) -> bool:
        return os.path.lexists(self.root / path)


class MemoryTree(Tree):
    """A tree in memory: path -> content, and path -> where a link leads.

    ``errors`` are paths that cannot be read -> errno, as it was when the tree was captured.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        links: Mapping[str, str] | None = None,
        errors: Mapping[str, int] | None = None,
        folders: Iterable[str] = (),
    ) -> None:
        self.files = dict(files)
        self.links = dict(links or {})
        self.errors = dict(errors or {})
        self._folders: dict[str, set[str]] = {"": set()}
        for path in [*self.files, *self.links, *self.errors, *folders]:
            self._add(path)
        for path in folders:
            self._folders.setdefault("/".join(_parts(path)), set())

    def _add(self, path: str) -> None:
        parts = _parts(path)
        for depth, part in enumerate(parts):
            self._folders.setdefault("/".join(parts[:depth]), set()).add(part)

    def _content(self, path: str) -> bytes:
        if path in self.errors:
            raise OSError(self.errors[path], os.strerror(self.errors[path]), path)
        if path not in self.files:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self.files[path]

    def _children(self, path: str) -> list[str]:
        return list(self._folders.get(path, ()))

    def _link(self, path: str) -> str | None:
        return self.links.get(path)

    def _is_there(self, path: str) -> bool:
        return path in self.files or path in self.errors or path in self._folders


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _named(error: OSError, path: str) -> OSError:
    code = error.errno or errno.EIO
    return OSError(code, os.strerror(code), path)

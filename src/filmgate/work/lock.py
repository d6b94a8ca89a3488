"""One coordinator for each folder: a lock that goes with its process."""

from __future__ import annotations

import fcntl
import os
import secrets
import socket
from pathlib import Path

import msgspec

from filmgate.errors import UserError
from filmgate.records import Record

_LOCK = "coordinator.json"
_SEEN: set[tuple[Path, str]] = set()
"""Folders that this process has looked at, so that it does so once and not for every task."""


class Coordinator(Record, frozen=True):
    """Who works on a folder, or did last; ``coordinator.json``, whose lock tells which."""

    host: str
    """Name of its machine."""
    process: int
    """Its process id there."""
    token: str
    """Drawn at its start; workers of another coordinator know by it that they are too late."""


class FolderLock:
    """Holds a folder; released when it is closed or its process ends, however it ends."""

    def __init__(self, room: Path) -> None:
        self.token = secrets.token_hex(8)
        """Names this holder."""
        self._path = room / _LOCK
        self._descriptor = -1

    def take(self, *, other_machines: bool = True) -> None:
        """Hold it, and have workers on ``other_machines`` see by whom.

        Raises UserError when another coordinator has it.
        """
        self._lock()
        while os.fstat(self._descriptor).st_nlink == 0:  # its holder removed it between two calls
            self.release()
            self._lock()
        me = Coordinator(host=socket.gethostname(), process=os.getpid(), token=self.token)
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, msgspec.json.encode(me), 0)
        if other_machines:
            os.fsync(self._descriptor)

    def _lock(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise self._taken() from None

    def release(self) -> None:
        """Let others work on the folder."""
        os.close(self._descriptor)

    def _taken(self) -> UserError:
        holder = _read(self._path)
        who = f"process {holder.process} on {holder.host}" if holder else "another process"
        return UserError(
            f"{who} is working on {self._path.parent.parent}",
            hint="wait for it to end, or end it; what it has finished is kept",
        )


def sees_folder(room: Path, token: str) -> bool:
    """Whether this machine sees the folder as the holder of ``token`` left it."""
    if (room, token) in _SEEN:
        return True
    holder = _read(room / _LOCK)
    if holder is None or holder.token != token:
        return False
    _SEEN.add((room, token))
    return True


def _read(path: Path) -> Coordinator | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Coordinator)
    except (FileNotFoundError, msgspec.DecodeError):
        return None

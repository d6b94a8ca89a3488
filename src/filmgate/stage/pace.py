"""The pace of a transfer: a limit that all processes share, and an eye on whether it moves."""

from __future__ import annotations

import fcntl
import os
import queue
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

_STATE = struct.Struct("<dQ")
BURST_SECONDS = 0.5
"""What may pass at once after a pause, in seconds at the limit."""
MAX_WAIT_SECONDS = 1.0
"""Pieces are cut so that none waits longer."""
QUEUE_PIECES = 8


class Meter:
    """Counts the bytes of all processes on this machine in one small file, and holds them back.

    The file has the monotonic time at which the next byte may pass, and the bytes so far.
    """

    def __init__(self, path: Path, bytes_per_second: float | None = None) -> None:
        self._path = path
        self._rate = bytes_per_second

    def reset(self) -> None:
        """Begin at 0."""
        self._path.write_bytes(_STATE.pack(0.0, 0))

    @property
    def num_bytes(self) -> int:
        """Bytes that passed since the reset."""
        _, num_bytes = _STATE.unpack(self._path.read_bytes())
        return int(num_bytes)

    def pieces(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """The same bytes, at the pace."""
        most = None if self._rate is None else max(1, int(self._rate * MAX_WAIT_SECONDS))
        for piece in pieces:
            for start in range(0, len(piece), most or len(piece)):
                part = piece[start : start + (most or len(piece))]
                time.sleep(self._book(len(part)))
                yield part

    def _book(self, num_bytes: int) -> float:
        """Count the bytes; how long they have to wait."""
        descriptor = os.open(self._path, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            next_time, so_far = _STATE.unpack(os.pread(descriptor, _STATE.size, 0))
            now = time.monotonic()
            at = max(next_time, now - BURST_SECONDS)
            after = now if self._rate is None else at + num_bytes / self._rate
            os.pwrite(descriptor, _STATE.pack(after, so_far + num_bytes), 0)
        finally:
            os.close(descriptor)
        return max(0.0, at - now) if self._rate is not None else 0.0


def watched(pieces: Iterator[bytes], stall_seconds: float) -> Iterator[bytes]:
    """The same bytes, read by a thread of their own, for a read of a dead share never returns.

    Raises TimeoutError when for so long no byte comes; however slow they are otherwise.
    """
    ready: queue.Queue[bytes | BaseException | None] = queue.Queue(QUEUE_PIECES)
    is_left = threading.Event()

    def read() -> None:
        """Put every piece, then None or what went wrong."""
        end: BaseException | None = None
        try:
            for piece in pieces:
                if not _put(ready, piece, is_left):
                    return
        except BaseException as error:  # noqa: BLE001  raised where the bytes are wanted
            end = error
        _put(ready, end, is_left)

    threading.Thread(target=read, name="stage-read", daemon=True).start()
    try:
        while True:
            try:
                piece = ready.get(timeout=stall_seconds)
            except queue.Empty:
                raise TimeoutError(f"no byte came for {stall_seconds:g} s") from None
            if piece is None:
                return
            if isinstance(piece, BaseException):
                raise piece
            yield piece
    finally:
        is_left.set()


def _put(
    ready: queue.Queue[bytes | BaseException | None],
    what: bytes | BaseException | None,
    is_left: threading.Event,
) -> bool:
    """Whether somebody still wants it."""
    while not is_left.is_set():
        try:
            ready.put(what, timeout=0.5)
        except queue.Full:
            continue
        return True
    return False

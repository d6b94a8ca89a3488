"""One video from its source into the hot tier: the task that a worker does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from filmgate.errors import UnreadableVideo
from filmgate.records import Record
from filmgate.stage.chunks import PartialFile
from filmgate.stage.pace import Meter, watched
from filmgate.stage.source import Identity, Source, SourceChanged, open_source
from filmgate.work import Place
from filmgate.work.faults import kind_of

T = TypeVar("T")
MAX_ROUNDS = 4
"""Times that a whole file is fetched because its content was wrong or its source changed."""
MAX_TRIES = 5
"""Tries of one chunk, when faults come that may pass."""
RETRY_SECONDS = 0.2
"""Wait before the second try of a chunk; doubles with each further one."""


class Fetched(Record, frozen=True, kw_only=True):
    """One staged video, as the list of work remembers it."""

    content_digest: str
    """Of its bytes, read back from disk."""
    size_bytes: int
    """Its size."""
    source: str
    """Path or URL that it came from."""
    identity: Identity
    """Of the source when its content was the wanted one."""
    mtime_ns: int
    """Time of change that the copy was given."""
    bytes_fetched: int
    """What the last attempt asked of the source; less than the size after a kill."""
    num_damaged: int
    """Chunks that were not on disk as they came, and were fetched again."""
    num_changed: int
    """Times that the source changed meanwhile."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchJob:
    """What a worker needs for one video."""

    source: str
    content_digest: str
    size_bytes: int
    mtime_ns: int
    output: str
    chunk_bytes: int
    stall_seconds: float
    meter: Path
    bytes_per_second: float | None


def fetch(job: FetchJob, place: Place) -> Fetched:
    """Fetch, verify and leave the file in its place; runs in a worker.

    Raises UnreadableVideo when the source has other content than the catalog says, and OSError,
    ConnectionError or TimeoutError when it cannot be read.
    """
    return _Fetch(job, place).run()


class _Fetch:
    """One attempt."""

    def __init__(self, job: FetchJob, place: Place) -> None:
        self._job = job
        self._place = place
        self._source: Source = open_source(job.source, job.stall_seconds)
        self._meter = Meter(job.meter, job.bytes_per_second)
        self._bytes_fetched = self._num_damaged = self._num_changed = 0

    def run(self) -> Fetched:
        """Rounds of fetching, until the content is right or known to be wrong."""
        wrong: str | None = None
        for _ in range(MAX_ROUNDS):
            identity = self._identity()
            part = self._part(identity)
            try:
                self._fill(part, identity)
            except SourceChanged:
                self._num_changed += 1
                part.clear()
                continue
            digest = part.digest()
            if digest == self._job.content_digest:
                return self._done(part, identity)
            num_damaged = part.drop_damaged()
            self._num_damaged += num_damaged
            if num_damaged == 0:
                part.clear()
                if digest == wrong:
                    break
                wrong = digest
        raise self._gives_up(wrong)

    def _identity(self) -> Identity:
        """Of the source. Raises UnreadableVideo when its size is not the catalog's."""
        identity = _patiently(self._source.identity)
        if identity.size_bytes != self._job.size_bytes:
            raise UnreadableVideo(
                self._job.source,
                f"it has {identity.size_bytes} bytes, and {self._job.size_bytes} when it was "
                "indexed",
                hint="index it again",
            )
        return identity

    def _part(self, identity: Identity) -> PartialFile:
        path = self._place.path(self._job.output)
        part = PartialFile(path, self._place.folder, identity, self._job.chunk_bytes)
        part.open()
        return part

    def _fill(self, part: PartialFile, identity: Identity) -> None:
        for number, start, stop in part.missing():
            _patiently(partial(self._chunk, part, identity, number, start, stop))

    def _chunk(
        self, part: PartialFile, identity: Identity, number: int, start: int, stop: int
    ) -> int:
        """Fetch one chunk; its size."""
        pieces = watched(self._source.read(identity, start, stop), self._job.stall_seconds)
        size = part.write(number, self._meter.pieces(pieces))
        self._bytes_fetched += size
        return size

    def _done(self, part: PartialFile, identity: Identity) -> Fetched:
        """The file with its source's time, by which it is known to be untouched."""
        os.utime(part.path, ns=(time.time_ns(), self._job.mtime_ns))
        return Fetched(
            content_digest=self._job.content_digest,
            size_bytes=self._job.size_bytes,
            source=self._job.source,
            identity=identity,
            mtime_ns=self._job.mtime_ns,
            bytes_fetched=self._bytes_fetched,
            num_damaged=self._num_damaged,
            num_changed=self._num_changed,
        )

    def _gives_up(self, wrong: str | None) -> UnreadableVideo:
        if wrong is None:
            return UnreadableVideo(
                self._job.source,
                f"it changed or came damaged in {MAX_ROUNDS} rounds",
                hint="stage it when nobody writes to it",
            )
        return UnreadableVideo(
            self._job.source,
            "its content is not the one that was indexed",
            hint="index it again, or bring the right file back",
        )


def _patiently(attempt: Callable[[], T]) -> T:
    """What it gives; tried again when a fault may pass."""
    for number in range(MAX_TRIES):
        try:
            return attempt()
        except OSError as error:
            if kind_of(error) != "passing" or number == MAX_TRIES - 1:
                raise
            time.sleep(RETRY_SECONDS * 2**number)
    raise AssertionError("unreachable")

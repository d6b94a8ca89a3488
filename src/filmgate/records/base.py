"""The base of every record, and the header that makes lineage a walk over files."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from filmgate import __version__


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen, keyword-only record: JSON out, the same record back in."""

    # msgspec does not hand kw_only down: a record with a default before a required field repeats
    # it, ``class X(Record, frozen=True, kw_only=True)``.


class Header(Record, frozen=True):
    """Who made an artifact, from what, and when."""

    schema: str
    """Kind of artifact, for example ``filmgate.catalog``."""
    schema_version: int
    """Raised when a reader of the old layout would misread the new one."""
    inputs: dict[str, str] = {}
    """Name of each input -> its digest."""
    filmgate_version: str = __version__
    """Version of the code that wrote it."""
    created_at: str = msgspec.field(
        default_factory=lambda: datetime.now(UTC).isoformat("T", "seconds")
    )
    """UTC, ISO 8601."""

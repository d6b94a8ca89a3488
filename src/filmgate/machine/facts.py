"""The base of every record about a machine: a value that could not be read is None, with why."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from filmgate.records import Record

T = TypeVar("T")


class Facts(Record, frozen=True):
    """Facts of one subject, as something told them; nothing here is measured."""

    unknown: dict[str, str] = {}
    """Name of a field that is null -> why it could not be read."""

    def why(self, field: str) -> str:
        """Why a field is None; ``not told`` where nothing was noted."""
        return self.unknown.get(field, "not told")


class Gaps:
    """Collects why values could not be read, while a record is put together."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}

    def take(self, field: str, read: Callable[[], T | None]) -> T | None:
        """What ``read`` returns; None, and the reason noted, when it raises OSError or ValueError.

        A ``read`` that returns None has to note the reason itself, or there is nothing to note.
        """
        try:
            return read()
        except (OSError, ValueError) as error:
            self.note(field, words(error))
            return None

    def note(self, field: str, why: str) -> None:
        """Keep the reason for a field that stays None."""
        self.reasons[field] = why


def words(error: OSError | ValueError) -> str:
    """The error in one clause, its path first."""
    if isinstance(error, OSError) and error.errno is not None:
        reason = (error.strerror or os.strerror(error.errno)).lower()
        return f"/{str(error.filename).lstrip('/')}: {reason}" if error.filename else reason
    return str(error)

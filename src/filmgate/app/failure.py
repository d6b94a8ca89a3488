"""The one shape of an error where stdout is a record: ``--json`` prints one document always."""

from __future__ import annotations

from filmgate.errors import FilmgateError, UserError, VideoError
from filmgate.records import Header, Record


class Failure(Record, frozen=True, kw_only=True):
    """Why a command came to nothing, as stderr tells it; ``header.schema`` tells it apart."""

    header: Header
    """Its schema is ``filmgate.failure``."""
    kind: str
    """Class of the error, for example ``UserError``; ``Stopped`` after a signal."""
    message: str
    """What, got and allowed."""
    hint: str
    """What to do next; may be empty."""
    exit_code: int
    """Of the command: 2 mend the input, 75 try again, 128 and a signal's number; 1 otherwise."""


def failure_of(error: FilmgateError) -> Failure:
    """The error as a record."""
    usual = 2 if isinstance(error, UserError | VideoError) else 1
    code: int = getattr(error, "exit_code", usual)
    return _failure(type(error).__name__, error.message, error.hint, code)


def stopped_by(number: int) -> Failure:
    """A signal that ended a command."""
    return _failure("Stopped", f"stopped by signal {number}", "", 128 + number)


def _failure(kind: str, message: str, hint: str, exit_code: int) -> Failure:
    return Failure(
        header=Header(schema="filmgate.failure", schema_version=1),
        kind=kind,
        message=message,
        hint=hint,
        exit_code=exit_code,
    )

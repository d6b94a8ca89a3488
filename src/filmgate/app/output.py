"""What goes to stdout: the record, whole and at once, or an error that says why not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from filmgate.errors import UserError
from filmgate.records import Record


def print_record(record: Record) -> None:
    """Print a record as indented JSON, in UTF-8 whatever the locale. Raises as ``print_text``."""
    _write(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")


def print_text(text: str) -> None:
    """Print text for a person; characters that the locale's encoding lacks are escaped.

    Raises UserError when stdout is closed or cannot be written, BrokenPipeError when the reader
    has gone.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    _write(text.encode(encoding, "backslashreplace"))


def path_from_here(path: Path | str) -> str:
    """A path as a person would type it: relative where it lies below the current folder."""
    absolute, here = Path(path).absolute(), Path.cwd()
    return str(absolute.relative_to(here) if absolute.is_relative_to(here) else path)


def discard_stdout() -> None:
    """Throw away what stdout still holds, so that the interpreter's end does not try it again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _write(content: bytes) -> None:
    if sys.stdout is None:
        raise _unwritable("it is closed")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_stdout()
        raise _unwritable(error.strerror or str(error)) from None


def _unwritable(reason: str) -> UserError:
    return UserError(
        f"the record cannot be printed: stdout: {reason}",
        hint="send stdout to a place that can be written; what was done is done",
    )

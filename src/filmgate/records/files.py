"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from filmgate.errors import UserError
from filmgate.records.base import Record

R = TypeVar("R", bound=Record)
_UNFINISHED = ".part"


def write_file(path: Path, write: bytes | Callable[[BinaryIO], object]) -> None:
    """Put ``path`` in place in one step: temporary name beside it, fsync, rename, fsync folder.

    ``write`` is the content, or a function that writes it to the open file. On any failure the
    old file stays as it was and no temporary file is left. An OSError names ``path``.
    """
    try:
        _replace(path, write)
    except OSError as error:
        error.filename = str(path)
        error.filename2 = None
        raise


def _replace(path: Path, write: bytes | Callable[[BinaryIO], object]) -> None:
    descriptor, temporary = tempfile.mkstemp(
        prefix=f".{path.name}.", suffix=_UNFINISHED, dir=path.parent
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            if callable(write):
                write(file)
            else:
                file.write(write)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    fsync_folder(path.parent)


def remove_unfinished(folder: Path) -> None:
    """Remove what killed writes left in a folder into which nobody writes now."""
    for path in folder.glob(f".*{_UNFINISHED}"):
        path.unlink(missing_ok=True)


def fsync_folder(folder: Path) -> None:
    """Make renames inside ``folder`` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_record(path: Path, record: Record) -> None:
    """Write a record as indented JSON, in one step."""
    write_file(path, msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")


def read_record(path: Path, kind: type[R], *, missing_hint: str = "check the path") -> R:
    """Read a record back; ``missing_hint`` says what to do where there is no file.

    Raises UserError when the file is missing, is no JSON, or is a record of another kind.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist", hint=missing_hint) from None
    except msgspec.DecodeError as error:
        raise UserError(
            f"{path} is no {kind.__name__} record: {error}",
            hint="was it written by another version of filmgate, or edited by hand?",
        ) from None

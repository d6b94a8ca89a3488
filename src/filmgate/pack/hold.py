"""One packer for each folder, and no leftovers of those that were killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filmgate.errors import UserError
from filmgate.records.files import remove_unfinished
from filmgate.work.lock import FolderLock

PACK_ROOM = ".pack"
"""Folder inside a pack that says who packs."""


@contextmanager
def hold_pack(out: Path) -> Iterator[None]:
    """Hold a folder while it is packed into; what a killed packer had half written goes first.

    Raises UserError when another process packs into it, or it cannot be written, also later on.
    """
    try:
        (out / PACK_ROOM).mkdir(parents=True, exist_ok=True)
        lock = FolderLock(out / PACK_ROOM)
        lock.take()
    except OSError as error:
        raise UserError(
            f"{out} cannot be written: {error.strerror}", hint="name another folder"
        ) from None
    try:
        remove_unfinished(out)
        yield
    except OSError as error:
        if error.filename is None or not Path(error.filename).is_relative_to(out):
            raise
        raise UserError(
            f"{error.filename} cannot be written: {error.strerror}",
            hint="mend that, then start again; shards that are finished are kept",
        ) from None
    finally:
        lock.release()

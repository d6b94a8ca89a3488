"""Tables of a pack as Arrow files: mapped, not read, so that all processes share one copy."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from filmgate.errors import UserError
from filmgate.records import write_file

_DIGEST_KEY = b"filmgate.pack.digest"
"""Where each file says which state of the pack it belongs to."""
_HINT = "pack the folder again"


def write_arrow(path: Path, table: pa.Table, digest: str) -> None:
    """Write a table, in one step; uncompressed and in one piece, so that it can be mapped."""
    table = table.combine_chunks().replace_schema_metadata({_DIGEST_KEY: digest.encode()})

    def write(file: BinaryIO) -> None:
        """The table as an Arrow file."""
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)

    write_file(path, write)


def map_arrow(path: Path, schema: pa.Schema, digest: str) -> pa.Table:
    """The table. Raises UserError for a file that is missing, damaged or of another state."""
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except (OSError, ValueError, pa.ArrowException) as error:
        said = " ".join(str(error).split())
        raise UserError(f"{path} cannot be read: {said}", hint=_HINT) from None
    state = (table.schema.metadata or {}).get(_DIGEST_KEY)
    if not table.schema.equals(schema) or state != digest.encode():
        raise UserError(f"{path} belongs to another state of the pack", hint=_HINT)
    return table

"""A frame table as a few bytes, for the list of work, until all of them are in the catalog."""

from __future__ import annotations

import zlib
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from filmgate.catalog.store import (
    ENTRY_COLUMNS,
    FRAME_ARRAYS,
    FRAMES_SCHEMA,
    PLAIN_FRAME_COLUMNS,
    frame_arrays,
    frame_plain,
)
from filmgate.video import EntryPoints, FrameTable

_ZLIB_LEVEL = 1
_DTYPES: dict[str, np.dtype[Any]] = {
    field.name: np.dtype(field.type.value_type.to_pandas_dtype())
    for field in FRAMES_SCHEMA
    if field.name in FRAME_ARRAYS
}
_COUNTING = frozenset(name for name, dtype in _DTYPES.items() if dtype.kind == "i")
"""Columns whose values rise evenly, so that from one to the next there is little to tell."""


def pack_table(table: FrameTable) -> bytes:
    """The table, some 2 bytes a frame; the same bytes for the same table."""
    plain = frame_plain("", table)
    arrays = {name: _differences(values, name) for name, values in frame_arrays(table).items()}
    return zlib.compress(msgspec.msgpack.encode((plain, arrays)), _ZLIB_LEVEL)


def unpack_table(packed: bytes) -> FrameTable:
    """The table that was packed."""
    plain, arrays = msgspec.msgpack.decode(zlib.decompress(packed))
    entries = {name: _sums(arrays[f"entry_{name}"], f"entry_{name}") for name in ENTRY_COLUMNS}
    return FrameTable(
        time_base=Fraction(*plain["time_base"]),
        pts=_sums(arrays["pts"], "pts"),
        is_key=_sums(arrays["is_key"], "is_key"),
        packet=_sums(arrays["packet"], "packet"),
        entries=EntryPoints(**entries),
        **{name: plain[name] for name in PLAIN_FRAME_COLUMNS},
    )


def _differences(values: NDArray[Any], name: str) -> bytes:
    """From each value to the next, for what counts up; other values as they are."""
    values = values.astype(_DTYPES[name], casting="safe")
    if name in _COUNTING:
        values[1:] -= values[:-1].copy()
    return values.tobytes()


def _sums(content: bytes, name: str) -> NDArray[Any]:
    values = np.frombuffer(content, _DTYPES[name])
    return values.cumsum(dtype=values.dtype) if name in _COUNTING else values

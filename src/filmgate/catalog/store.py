"""Catalog rows as Parquet files: columns for people and for SQL, row groups for the reader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq
from numpy.typing import NDArray

from filmgate.catalog.rows import FileStamp, LeftOut, VideoRow
from filmgate.records import Record, write_file
from filmgate.video import EntryPoints, FrameTable

ROWS_PER_GROUP = 256
"""Rows that are fetched and unpacked together."""
MOST_BYTES_PARSED_TOGETHER = 1 << 30
"""Of rows on their way into a table; pyarrow counts them with 32 bits."""
DIGEST_KEY = b"filmgate.catalog.digest"
"""Where each file says which catalog it belongs to."""

R = TypeVar("R", bound=Record)

_STAMP = pa.struct([("size_bytes", pa.int64()), ("mtime_ns", pa.int64()), ("inode", pa.uint64())])
_TEXT, _INT = pa.string(), pa.int64()
_RATIO = pa.list_(pa.int64())
VIDEOS_SCHEMA = pa.schema(
    [
        ("video_id", _TEXT), ("path", _TEXT), ("content_digest", _TEXT), ("label", _TEXT),
        ("num_frames", _INT), ("duration_seconds", pa.float64()), ("stamp", _STAMP),
        ("container", _TEXT), ("codec", _TEXT), ("pixel_format", _TEXT), ("width", pa.int32()),
        ("height", pa.int32()), ("rotation_degrees", pa.int16()), ("mirrored", pa.bool_()),
        ("sample_aspect", _RATIO), ("interlacing", _TEXT), ("color_range", _TEXT),
        ("color_matrix", _TEXT), ("color_primaries", _TEXT), ("color_transfer", _TEXT),
        ("bits_per_sample", pa.int16()), ("has_audio", pa.bool_()), ("frames_from_header", _INT),
        ("average_fps", _RATIO), ("is_variable_rate", pa.bool_()),
        ("max_frames_between_entry_points", _INT), ("access", _TEXT), ("access_reason", _TEXT),
        ("index_from", _TEXT), ("index_reason", _TEXT), ("times_from", _TEXT),
        ("mixed_sizes", pa.bool_()), ("damage", pa.list_(_TEXT)), ("source_digest", _TEXT),
        ("split", _TEXT),
    ]
)  # fmt: skip
LATER_COLUMNS = frozenset({"split"})
"""Columns that catalogs from before lack; there they are null."""
LEFT_OUT_SCHEMA = pa.schema(
    [("video_id", _TEXT), ("path", _TEXT), ("reason", _TEXT), ("stamp", _STAMP)]
)
ENTRY_COLUMNS = {
    "packet": pa.int32(), "first_frame": pa.int32(), "seek_target": pa.int64(),
    "position": pa.int64(), "size": pa.int32(), "crc32": pa.uint32(),
}  # fmt: skip
FRAMES_SCHEMA = pa.schema(
    [
        ("video_id", _TEXT), ("time_base", _RATIO), ("pts", pa.list_(_INT)), ("end_ticks", _INT),
        ("is_key", pa.list_(pa.bool_())), ("packet", pa.list_(pa.int32())),
        *((f"entry_{name}", pa.list_(kind)) for name, kind in ENTRY_COLUMNS.items()),
        ("access", _TEXT), ("access_reason", _TEXT), ("seek_by", _TEXT),
        ("times_from_packets", pa.bool_()), ("stream_index", pa.int32()), ("file_bytes", _INT),
    ]
)  # fmt: skip
FRAME_ARRAYS = {"pts", "is_key", "packet", *(f"entry_{name}" for name in ENTRY_COLUMNS)}
PLAIN_FRAME_COLUMNS = (
    "end_ticks", "access", "access_reason", "seek_by", "times_from_packets", "stream_index",
    "file_bytes",
)  # fmt: skip


def rows_as_table(rows: Sequence[Record] | Sequence[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """Records as a table.

    By way of JSON, because ``pyarrow.array`` and all that uses it import pandas where there is one:
    0.2 s of CPU time, as much as indexing a video of ten minutes takes.
    """
    if not rows:
        return pa.Table.from_batches([], schema=schema)
    lines = msgspec.json.Encoder().encode_lines(rows)
    table = pyarrow.json.read_json(
        BytesIO(lines),
        read_options=pyarrow.json.ReadOptions(
            use_threads=False, block_size=min(len(lines) + 1, MOST_BYTES_PARSED_TOGETHER)
        ),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=schema, unexpected_field_behavior="error"
        ),
    )
    return table.replace_schema_metadata(schema.metadata)


def write_rows(path: Path, rows: Sequence[Record], schema: pa.Schema, digest: str) -> None:
    """Write records as a table, in one step."""
    table = rows_as_table(rows, schema.with_metadata({DIGEST_KEY: digest.encode()}))

    def write(file: BinaryIO) -> None:
        """The table as Parquet."""
        pq.write_table(
            table,
            file,
            compression="zstd",
            row_group_size=ROWS_PER_GROUP,
            write_page_checksum=True,
        )

    write_file(path, write)


def write_frame_tables(path: Path, tables: Iterable[tuple[str, FrameTable]], digest: str) -> None:
    """Write the frame tables of (video_id, table) pairs, a row group at a time, in one step."""
    schema = FRAMES_SCHEMA.with_metadata({DIGEST_KEY: digest.encode()})
    integers = ["pts", "packet", "entry_packet", "entry_first_frame", "entry_seek_target",
                "entry_position"]  # fmt: skip
    deltas = {f"{name}.list.element": "DELTA_BINARY_PACKED" for name in integers}

    def write(file: BinaryIO) -> None:
        """Group after group as Parquet."""
        with pq.ParquetWriter(
            file,
            schema,
            compression="zstd",
            use_dictionary=False,
            column_encoding=deltas,
            write_page_checksum=True,
        ) as writer:
            for group in _groups(tables):
                writer.write_table(frames_as_table(group).replace_schema_metadata(schema.metadata))

    write_file(path, write)


def frames_as_table(tables: Iterable[tuple[str, FrameTable]]) -> pa.Table:
    """The frame tables of (video_id, table) pairs, a row each."""
    pairs = list(tables)
    arrays = [frame_arrays(table) for _, table in pairs]
    plain = pa.schema([field for field in FRAMES_SCHEMA if field.name not in FRAME_ARRAYS])
    told = rows_as_table([frame_plain(video_id, table) for video_id, table in pairs], plain)
    columns = [
        _list_column([row[field.name] for row in arrays], field.type.value_type)
        if field.name in FRAME_ARRAYS
        else told.column(field.name)
        for field in FRAMES_SCHEMA
    ]
    return pa.Table.from_arrays(columns, schema=FRAMES_SCHEMA)


def _list_column(arrays: Sequence[NDArray[Any]], kind: pa.DataType) -> pa.Array:
    """A column of lists, one for each array."""
    offsets = np.cumsum([0, *map(len, arrays)], dtype=np.int64)
    dtype = np.dtype(kind.to_pandas_dtype())
    values = np.concatenate([np.zeros(0, dtype), *arrays], dtype=dtype, casting="safe")
    return pa.ListArray.from_arrays(
        _plain_array(offsets.astype(np.int32), pa.int32()), _plain_array(values, kind)
    )


def _plain_array(values: NDArray[Any], kind: pa.DataType) -> pa.Array:
    """Values as they lie in memory, without nulls."""
    if pa.types.is_boolean(kind):
        buffer = pa.py_buffer(np.packbits(values, bitorder="little"))
    else:
        buffer = pa.py_buffer(values)
    return pa.Array.from_buffers(kind, len(values), [None, buffer])


def _groups(
    tables: Iterable[tuple[str, FrameTable]],
) -> Iterator[list[tuple[str, FrameTable]]]:
    group: list[tuple[str, FrameTable]] = []
    for pair in tables:
        group.append(pair)
        if len(group) == ROWS_PER_GROUP:
            yield group
            group = []
    if group:
        yield group


def frame_plain(video_id: str, table: FrameTable) -> dict[str, Any]:
    """The columns of one row that hold no list of frames or entry points."""
    return {
        "video_id": video_id,
        "time_base": [table.time_base.numerator, table.time_base.denominator],
        **{name: getattr(table, name) for name in PLAIN_FRAME_COLUMNS},
    }


def frame_arrays(table: FrameTable) -> dict[str, NDArray[Any]]:
    """The columns of one row that hold one."""
    return {
        "pts": table.pts,
        "is_key": table.is_key,
        "packet": table.packet,
        **{f"entry_{name}": getattr(table.entries, name) for name in ENTRY_COLUMNS},
    }


def frame_table_from_row(table: pa.Table, row: int) -> FrameTable:
    """The frame table in one row of ``frames.parquet``."""

    def array(name: str) -> NDArray[Any]:
        """The list in one column of the row."""
        values: NDArray[Any] = table.column(name)[row].values.to_numpy(zero_copy_only=False)
        return values

    numerator, denominator = table.column("time_base")[row].as_py()
    return FrameTable(
        time_base=Fraction(numerator, denominator),
        pts=array("pts"),
        is_key=array("is_key"),
        packet=array("packet"),
        entries=EntryPoints(**{name: array(f"entry_{name}") for name in ENTRY_COLUMNS}),
        **{name: table.column(name)[row].as_py() for name in PLAIN_FRAME_COLUMNS},
    )


def rows_from_table(table: pa.Table, kind: type[R]) -> list[R]:
    """Records from a table that ``write_rows`` wrote."""
    return msgspec.convert(table.to_pylist(), type=list[kind])  # type: ignore[valid-type]


__all__ = [
    "DIGEST_KEY",
    "ENTRY_COLUMNS",
    "FRAMES_SCHEMA",
    "FRAME_ARRAYS",
    "LEFT_OUT_SCHEMA",
    "PLAIN_FRAME_COLUMNS",
    "ROWS_PER_GROUP",
    "VIDEOS_SCHEMA",
    "FileStamp",
    "LeftOut",
    "VideoRow",
    "frame_arrays",
    "frame_plain",
    "frame_table_from_row",
    "frames_as_table",
    "rows_as_table",
    "rows_from_table",
    "write_frame_tables",
    "write_rows",
]

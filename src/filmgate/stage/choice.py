"""Which videos are to be hot, in which order, and which ones the budget leaves cold.

V videos.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from filmgate.catalog import Catalog
from filmgate.catalog.order_over import order_over
from filmgate.catalog.query import rows_where
from filmgate.catalog.tiers import hot_name
from filmgate.errors import UserError
from filmgate.pack.places import STAGED_MTIME_NS, PackFile
from filmgate.pack.reader import Pack
from filmgate.spec import Job


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be hot."""

    where: str | None = None
    """A condition on the catalog's rows (``catalog.query``); None: all of them."""
    job: Job | None = None
    """In the order in which its first epoch shows them; None: in the order of the catalog."""
    budget_bytes: int | None = None
    """Most bytes of the hot tier, also with what is in it already; None: no limit but the disk."""


@dataclass(frozen=True, kw_only=True)
class PackSource:
    """A pack that is staged."""

    pack: Pack
    base: str
    """Folder or URL below which its shards are fetched."""


@dataclass(frozen=True, kw_only=True)
class HotFile:
    """One file that is wanted: the content of one or more rows, a shard or an index."""

    title: str
    """What people call it: the id of a video, or the name of a shard."""
    source: str
    """Path or URL of the cold one."""
    content_digest: str
    """Of its bytes."""
    mtime_ns: int
    """Time of change that the copy is given."""
    name: str
    """Below the staged catalog's folder."""
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What is to be staged, and how much stays cold and why."""

    files: list[HotFile]
    """In the order in which they are wanted."""
    over_budget: list[HotFile]
    """Those for which the budget has no room."""
    num_not_selected: int
    """Videos for which the condition does not hold."""
    num_never_shown: int
    """Videos that the job never shows."""
    num_sharing: int
    """Videos that have the same bytes as another one that is wanted; 0 of a pack, whose shards hold
    many."""


def choose(
    catalog: Catalog, wanted: Wanted, *, kept_bytes: int, pack: PackSource | None = None
) -> Choice:
    """The files, as many as fit beside ``kept_bytes`` that stay in the hot tier anyway.

    Of a ``pack`` these are its index and the shards that hold a wanted row, whole. A file that
    does not fit is passed over, and a smaller one after it may still fit. Raises UserError for a
    condition that cannot be used or holds for no video.
    """
    rows = wanted_rows(catalog, wanted.where)
    order = rows if wanted.job is None else _in_order(catalog, wanted.job, rows)
    files = _files(catalog, order) if pack is None else _pack_files(pack, order)
    left = None if wanted.budget_bytes is None else wanted.budget_bytes - kept_bytes
    fitting: list[HotFile] = []
    over: list[HotFile] = []
    for file in files:
        if left is not None and file.size_bytes > left:
            over.append(file)
            continue
        fitting.append(file)
        left = None if left is None else left - file.size_bytes
    is_selected_V = np.isin(np.arange(catalog.num_videos), rows)
    cold = np.flatnonzero(~is_selected_V)
    return Choice(
        files=fitting,
        over_budget=over,
        num_not_selected=len(cold) if pack is None else _num_cold(pack.pack, cold, fitting),
        num_never_shown=len(rows) - len(order),
        num_sharing=len(order) - len(files) if pack is None else 0,
    )


def wanted_rows(catalog: Catalog, where: str | None) -> NDArray[np.int64]:
    """Rows for which the condition holds. Raises UserError for a bad one, and when it is none."""
    if where is None:
        return np.arange(catalog.num_videos)
    rows = rows_where(catalog, where)
    if len(rows) == 0:
        raise UserError(
            f"{where!r} holds for none of {catalog.num_videos} videos",
            hint=f"see what there is: filmgate catalog show {shlex.quote(str(catalog.path))}",
        )
    return rows


def _in_order(catalog: Catalog, job: Job, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows as epoch 0 shows them first, then those that only later epochs show, then those
    that are held out as a whole."""
    order = order_over(job, catalog, "train", catalog.frame_table)
    is_wanted_V = np.zeros(catalog.num_videos, np.bool_)
    is_wanted_V[rows] = True
    shown = dict.fromkeys(order.video_of(number) for number in range(order.epoch_size))
    later = (row for row in rows.tolist() if row not in shown and order.is_shown(row))
    held_out = [] if order.rows is None else order.rows.held_out_rows.tolist()
    everything = (*shown, *later, *held_out)
    return np.array([row for row in everything if is_wanted_V[row]], np.int64)


def _files(catalog: Catalog, rows: NDArray[np.int64]) -> list[HotFile]:
    """Each content once."""
    digests = catalog.column("content_digest").to_pylist()
    paths = catalog.column("path").to_pylist()
    stamps = catalog.column("stamp").to_pylist()
    ids = catalog.column("video_id").to_pylist()
    files: dict[str, HotFile] = {}
    for row in rows.tolist():
        name = hot_name(digests[row], paths[row])
        if name not in files:
            files[name] = HotFile(
                title=ids[row],
                source=paths[row],
                content_digest=digests[row],
                mtime_ns=stamps[row]["mtime_ns"],
                name=name,
                size_bytes=stamps[row]["size_bytes"],
            )
    return list(files.values())


def _pack_files(source: PackSource, rows: NDArray[np.int64]) -> list[HotFile]:
    """The index, then the shards of the rows in the order in which they are first wanted."""
    pack, base = source.pack, source.base.rstrip("/")
    shards = dict.fromkeys(shard for row in rows.tolist() for shard in pack.shards_of(row))
    index = [_of_pack(file, str(pack.index_path(file))) for file in pack.index_files]
    wanted = map(pack.shard_file, shards)
    return [*index, *(_of_pack(file, f"{base}/{file.name}") for file in wanted)]


def _num_cold(pack: Pack, rows: NDArray[np.int64], files: list[HotFile]) -> int:
    """Those of the rows that do not lie in shards which are wanted for others."""
    names = {file.title for file in files}
    return sum(
        any(pack.shard_file(shard).name not in names for shard in pack.shards_of(row))
        for row in rows.tolist()
    )


def _of_pack(file: PackFile, source: str) -> HotFile:
    assert file.digest is not None, "packs without are refused"
    size_bytes = file.size_bytes
    return HotFile(
        title=file.name,
        source=source,
        content_digest=file.digest,
        mtime_ns=STAGED_MTIME_NS,
        name=hot_name(file.digest, file.name),
        size_bytes=Path(source).stat().st_size if size_bytes is None else size_bytes,
    )

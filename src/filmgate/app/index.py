"""Indexing as the commands do it: with progress, and every file left out named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from filmgate.app.terminal import Talk
from filmgate.catalog import Catalog, index_videos
from filmgate.catalog.labels import Labels
from filmgate.units import counted, format_bytes

MAX_LEFT_OUT_LINES = 20
"""The rest is counted here, and listed in the catalog."""


def index_with_progress(
    paths: Sequence[Path], out: Path, labels: Labels, talk: Talk, workers: int | None = None
) -> Catalog:
    """``catalog.index_videos``, told on stderr as it goes; raises what that raises."""
    with talk.job("index", "videos") as progress:
        catalog = index_videos(
            paths,
            out,
            labels=labels,
            workers=workers,
            on_progress=lambda at: progress(at.done, at.total, format_bytes(at.bytes_done)),
        )
    left_out = catalog.left_out
    talk.note(
        f"index: {counted(catalog.num_videos, 'video')}, {counted(len(left_out), 'file')} left out"
    )
    for one in left_out[:MAX_LEFT_OUT_LINES]:
        talk.note(f"  left out: {one.path}: {one.reason}")
    if len(left_out) > MAX_LEFT_OUT_LINES:
        talk.note(f"  and {len(left_out) - MAX_LEFT_OUT_LINES} more: {out / 'left_out.parquet'}")
    return catalog

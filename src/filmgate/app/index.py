"""Indexing as the commands do it: with progress, and every file left out named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from filmgate.app.terminal import Talk
from filmgate.catalog import Catalog, index_videos
from filmgate.catalog.labels import Labels
from filmgate.errors import UserError
from filmgate.units import counted, format_bytes
from filmgate.work.executor import Executor
from filmgate.work.on_ray import RayExecutor

MAX_LEFT_OUT_LINES = 20
"""The rest is counted here, and listed in the catalog."""


def index_with_progress(
    paths: Sequence[Path],
    out: Path,
    labels: Labels,
    talk: Talk,
    workers: int | None = None,
    *,
    executor: Executor | None = None,
    retry_left_out: bool = False,
) -> Catalog:
    """``catalog.index_videos``, told on stderr as it goes; raises what that raises."""
    with talk.job("index", "videos") as progress:
        catalog = index_videos(
            paths,
            out,
            labels=labels,
            workers=workers,
            executor=executor,
            retry_left_out=retry_left_out,
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


def executor_of(*, ray: bool, workers: int | None) -> Executor | None:
    """Ray's, or None for processes of this machine. Raises UserError for both at once."""
    if ray and workers is not None:
        raise UserError(
            "--workers and --ray are both given", hint="Ray takes every core of its nodes"
        )
    return RayExecutor() if ray else None

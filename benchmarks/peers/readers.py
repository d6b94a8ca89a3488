"""Every reader by name."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from benchmarks.peers.others import OTHERS, Maker
from benchmarks.peers.ours import Libavcodec, NotYet, Ours, OursYuv
from benchmarks.peers.task import Task

OURS = "filmgate"
OURS_YUV = "filmgate, YUV"
OURS_CACHE = "filmgate, cache"
CEILING = "libavcodec alone"


def _no_cache(task: Task) -> Any:
    raise NotYet("the frame cache does not exist yet")


READERS: dict[str, tuple[str, Maker]] = {
    OURS: ("filmgate", Ours),
    OURS_YUV: ("filmgate", OursYuv),
    OURS_CACHE: ("filmgate", _no_cache),
    CEILING: ("av", Libavcodec),
} | OTHERS


def make_reader(task: Task) -> Any:
    """The reader of a task. Raises ModuleNotFoundError where its package is not installed, NotYet
    for what filmgate does not have."""
    return READERS[task.reader][1](task)


def versions_for(reader: str) -> dict[str, str]:
    """Version of the reader's package, and of torch for those that stand on it."""
    names = {READERS[reader][0], "torch"} - {"filmgate"}
    installed = {str(found.metadata["Name"]).lower() for found in metadata.distributions()}
    return {name: metadata.version(name) for name in sorted(names) if name in installed}

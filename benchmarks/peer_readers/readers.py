"""Every reader by name."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from benchmarks.peer_readers.others import OTHERS, Maker
from benchmarks.peer_readers.ours import Libavcodec, Ours, OursYuv, Reference
from benchmarks.peer_readers.task import Setup

OURS = "filmgate"
OURS_YUV = "filmgate, YUV"
REFERENCE = "filmgate, whole picture"
CEILING = "libavcodec alone"

READERS: dict[str, tuple[str, Maker]] = {
    OURS: ("filmgate", Ours),
    OURS_YUV: ("filmgate", OursYuv),
    REFERENCE: ("filmgate", Reference),
    CEILING: ("av", Libavcodec),
} | OTHERS


def make_reader(setup: Setup) -> Any:
    """The reader of a setup. Raises ModuleNotFoundError where its package is not installed."""
    return READERS[setup.entry.reader][1](setup)


def versions_for(reader: str) -> dict[str, str]:
    """Version of the reader's package, and of torch for those that stand on it."""
    names = {READERS[reader][0], "torch"} - {"filmgate"}
    installed = {str(found.metadata["Name"]).lower() for found in metadata.distributions()}
    return {name: metadata.version(name) for name in sorted(names) if name in installed}

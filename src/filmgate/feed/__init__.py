"""The feed: decoded clips in the order of their samples, made ahead of the trainer by workers.

``open_feed`` gives batches; ``ClipReader`` reads any frames of any video at any size, and
``open_device_reader`` reads them as tensors, decoded on the GPU where that pays. The names are
loaded when they are first asked for, because ``Batch`` needs torch and the worker processes,
which import this package too, do without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filmgate.feed.batch import Batch
    from filmgate.feed.clip_reader import ClipReader
    from filmgate.feed.dataset import ClipDataset
    from filmgate.feed.device_reader import open_device_reader
    from filmgate.feed.feed import Feed
    from filmgate.feed.open import open_feed
    from filmgate.feed.stats import FeedStats, Skipped

_HOMES = {
    "Batch": "batch",
    "ClipDataset": "dataset",
    "ClipReader": "clip_reader",
    "Feed": "feed",
    "FeedStats": "stats",
    "Skipped": "stats",
    "open_device_reader": "device_reader",
    "open_feed": "open",
}

__all__ = [
    "Batch",
    "ClipDataset",
    "ClipReader",
    "Feed",
    "FeedStats",
    "Skipped",
    "open_device_reader",
    "open_feed",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

"""Many video files as one table: indexed once, opened cheaply, the same for everyone.

A catalog is a folder: ``catalog.json`` (what it is), ``videos.parquet`` (one row per usable
video), ``frames.parquet`` (their frame tables) and ``left_out.parquet`` (files that cannot be
used, each with the reason). Its digest depends on contents and labels, not on where they lie.
"""

from filmgate.catalog.catalog import Catalog, open_catalog
from filmgate.catalog.index import index_videos
from filmgate.catalog.rows import LeftOut, VideoRow
from filmgate.catalog.summary import CatalogSummary, summarise

__all__ = [
    "Catalog",
    "CatalogSummary",
    "LeftOut",
    "VideoRow",
    "index_videos",
    "open_catalog",
    "summarise",
]

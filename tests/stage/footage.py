"""Catalogs to stage: real videos, padded to the size that a test wants."""

from __future__ import annotations

import random
import struct
from pathlib import Path

from filmgate.catalog import Catalog, index_videos
from filmgate.catalog.tiers import hot_name
from filmgate.stage.stage import StageRules
from tests.footage import write_video

QUICK = StageRules(parallel=0, chunk_bytes=64 * 1024, attempts=2, retry_seconds=0.05)
"""In this process, in many chunks."""


def write_padded(path: Path, size_bytes: int, *, hue: int) -> Path:
    """An MP4 with a box of random bytes at its end, which players pass over."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_video(path, num_frames=30, hue=hue)
    left = size_bytes - path.stat().st_size
    assert left >= 8
    with path.open("ab") as file:
        file.write(struct.pack(">I4s", left, b"free") + random.Random(hue).randbytes(left - 8))
    return path


def make_catalog(root: Path, *, num_videos: int = 4, size_bytes: int = 500_000) -> Catalog:
    """Videos in ``root/nas``, half of them labelled cold and half warm, and their catalog."""
    for number in range(num_videos):
        label = ("cold", "warm")[number % 2]
        write_padded(root / "nas" / label / f"{number}.mp4", size_bytes, hue=number * 11)
    return index_videos(root / "nas", root / "catalog", workers=0)


def contents(folder: Path) -> dict[str, bytes]:
    """Name -> bytes of every hot file."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("files/*/*")}


def wanted_contents(catalog: Catalog) -> dict[str, bytes]:
    """What the hot tier holds when everything is staged."""
    rows = [catalog.video(row) for row in range(catalog.num_videos)]
    return {hot_name(row.content_digest, row.path): Path(row.path).read_bytes() for row in rows}

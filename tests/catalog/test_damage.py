"""A catalog whose files were damaged on disk: found when it is read, mended by indexing again."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from filmgate.catalog import Catalog, index_videos, open_catalog, summarise
from filmgate.errors import UserError

FILES = ("catalog.json", "videos.parquet", "frames.parquet", "left_out.parquet")


@pytest.fixture(scope="module")
def videos(footage: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damage") / "videos"
    shutil.copytree(footage, folder)
    (folder / "cold" / "broken.mp4").write_text("<html>")
    return folder


@pytest.fixture(scope="module")
def catalog(videos: Path) -> Catalog:
    return index_videos(videos, videos.parent / "catalog", workers=0)


def everything_in(catalog: Catalog) -> tuple[object, ...]:
    rows = range(catalog.num_videos)
    tables = [catalog.frame_table(row) for row in rows]
    return (
        [catalog.video(row) for row in rows],
        catalog.left_out,
        [
            (t.pts.tolist(), t.packet.tolist(), t.entries.crc32.tolist(), t.end_ticks)
            for t in tables
        ],
        summarise(catalog).num_frames,
    )


def damaged(content: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.3:
        return content[: chance.randrange(len(content))]
    place, bit = chance.randrange(len(content)), 1 << chance.randrange(8)
    return content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("seed", [*range(12), 39, 42, 118])
def test_damage_is_an_error_or_has_no_effect_and_indexing_again_mends_it(
    name: str, seed: int, catalog: Catalog, videos: Path, tmp_path: Path
) -> None:
    whole = everything_in(catalog)
    folder = tmp_path / "catalog"
    shutil.copytree(catalog.path, folder)
    chance = random.Random(f"{name} {seed}")
    (folder / name).write_bytes(damaged((folder / name).read_bytes(), chance))
    if name != "catalog.json":
        try:
            assert everything_in(open_catalog(folder)) == whole
        except UserError as error:
            assert "index" in error.hint
    assert everything_in(index_videos(videos, folder, workers=0)) == whole

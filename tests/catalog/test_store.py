from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import msgspec
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from filmgate.catalog import Catalog, VideoRow, index_videos, open_catalog
from filmgate.catalog.query import rows_where
from filmgate.catalog.rows import CatalogHeader
from filmgate.catalog.store import (
    ROWS_PER_GROUP,
    VIDEOS_SCHEMA,
    write_frame_tables,
    write_rows,
)
from filmgate.errors import UserError
from filmgate.records import write_record
from tests.patience import PATIENT_SECONDS


@pytest.fixture(scope="module")
def catalog(footage: Path, tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return index_videos(footage, tmp_path_factory.mktemp("store") / "catalog", workers=0)


def test_every_field_of_a_row_has_a_column() -> None:
    assert set(VIDEOS_SCHEMA.names) == set(VideoRow.__struct_fields__)


def test_pandas_reads_the_files(catalog: Catalog) -> None:
    videos = pd.read_parquet(catalog.path / "videos.parquet")
    assert videos["video_id"].tolist()[0] == "cold/cold0.mp4"
    assert videos["num_frames"].sum() == 240
    frames = pd.read_parquet(catalog.path / "frames.parquet")
    assert frames["pts"].iloc[0].tolist() == catalog.frame_table(0).pts.tolist()
    assert len(pd.read_parquet(catalog.path / "left_out.parquet")) == 0


def test_duckdb_reads_the_files(catalog: Catalog) -> None:
    query = f"select label, sum(num_frames) from '{catalog.path}/videos.parquet' group by label"
    assert sorted(duckdb.sql(query).fetchall()) == [("cold", 120), ("warm", 120)]
    each = f"(select unnest(is_key) as is_key from '{catalog.path}/frames.parquet')"
    keys = duckdb.sql(f"select count(*) from {each} where is_key").fetchall()
    assert keys == [(24,)]


def test_indexing_leaves_pandas_alone(footage: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from filmgate.catalog import index_videos\n"
        "index_videos(sys.argv[1], sys.argv[2], workers=0)\n"
        "assert 'pandas' not in sys.modules"
    )
    command = [sys.executable, "-c", program, str(footage), str(tmp_path / "catalog")]
    subprocess.run(command, check=True, timeout=PATIENT_SECONDS)


def many(catalog: Catalog, folder: Path, num_videos: int) -> Catalog:
    """A catalog of many rows, each with a table of its own."""
    row, table = catalog.video(0), catalog.frame_table(0)
    rows = [msgspec.structs.replace(row, video_id=f"{n:07d}.mp4") for n in range(num_videos)]
    folder.mkdir()
    write_rows(folder / "videos.parquet", rows, VIDEOS_SCHEMA, "made-up")
    tables = ((one.video_id, replace(table, pts=table.pts + n)) for n, one in enumerate(rows))
    write_frame_tables(folder / "frames.parquet", tables, "made-up")
    header = msgspec.structs.replace(
        catalog.header, digest="made-up", num_videos=num_videos, num_frames=60 * num_videos
    )
    assert isinstance(header, CatalogHeader)
    write_record(folder / "catalog.json", header)
    return open_catalog(folder)


def test_rows_are_found_across_row_groups(catalog: Catalog, tmp_path: Path) -> None:
    num_videos = 3 * ROWS_PER_GROUP + 5
    large = many(catalog, tmp_path / "large", num_videos)
    for n in (0, ROWS_PER_GROUP - 1, ROWS_PER_GROUP, 2 * ROWS_PER_GROUP + 7, num_videos - 1):
        assert large.video(n).video_id == f"{n:07d}.mp4"
        assert large.frame_table(n).pts[0] == catalog.frame_table(0).pts[0] + n
    assert large.num_frames.sum() == 60 * num_videos


def test_few_row_groups_are_kept_unpacked(catalog: Catalog, tmp_path: Path) -> None:
    large = many(catalog, tmp_path / "large", 12 * ROWS_PER_GROUP)
    tables = [large.frame_table(n) for n in range(0, large.num_videos, ROWS_PER_GROUP)]
    assert len({int(table.pts[0]) for table in tables}) == 12
    assert len(large._frames._kept) <= 8
    assert np.array_equal(tables[0].pts, large.frame_table(0).pts)


def test_a_catalog_from_before_there_were_splits_is_read(catalog: Catalog, tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(catalog.path, old)
    videos = pq.read_table(old / "videos.parquet")
    pq.write_table(videos.drop_columns(["split"]), old / "videos.parquet")
    opened = open_catalog(old)
    assert opened.splits == [None] * catalog.num_videos
    assert opened.video(0) == catalog.video(0) and opened.digest == catalog.digest
    assert len(rows_where(opened, "split == None")) == catalog.num_videos
    pq.write_table(videos.drop_columns(["codec"]), old / "videos.parquet")
    with pytest.raises(UserError, match="other columns"):
        open_catalog(old).video(0)

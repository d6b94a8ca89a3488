"""A disk that fills up while copies are made stops the work, and leaves nothing half made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from filmgate.catalog import index_videos, open_catalog
from filmgate.errors import UserError
from filmgate.prepare.copies import Prepared, prepare_copies
from filmgate.prepare.recipe import Layout, Recipe
from filmgate.work import LocalExecutor
from tests.footage import write_video
from tests.small_disk import mount, mounted_disk

RECIPES = {
    name: Recipe(layout=layout)
    for name, layout in {
        "nut": Layout(name="decoded", codec="raw", quality=0),
        "mov": Layout(name="jpeg", codec="jpeg", quality=2),
        "mp4": Layout(name="short-gop", codec="mpeg4", quality=2, key_every=8),
    }.items()
}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, 64 kB at first."""
    with mounted_disk(tmp_path / "disk", "64k") as disk:
        yield disk


def sizes_below(folder: Path) -> list[int]:
    return sorted(path.stat().st_size for path in (folder / "copies").rglob("*.*"))


@pytest.mark.parametrize("suffix", RECIPES)
def test_a_full_disk_stops_the_copying_and_more_space_finishes_it(
    suffix: str, small_disk: Path, tmp_path: Path
) -> None:
    (tmp_path / "videos").mkdir()
    for number in range(3):
        write_video(tmp_path / "videos" / f"{number}.mp4", num_frames=40, hue=40 * number)
    catalog = index_videos(tmp_path / "videos", tmp_path / "catalog", workers=0)

    def prepare(out: Path) -> Prepared:
        return prepare_copies(catalog, out, RECIPES[suffix], executor=LocalExecutor(workers=0))

    prepare(tmp_path / "whole")
    wanted = sizes_below(tmp_path / "whole")
    out = small_disk / "copies"
    for share in (0.3, 0.5, 0.7, 0.9, 0.97):
        assert mount("-o", f"remount,size={int(share * sum(wanted)) + 24_000}", str(small_disk))
        try:
            prepare(out)
        except (UserError, OSError) as error:
            assert "no space left" in str(error).lower()
            assert not (out / "catalog.json").exists()
        assert set(sizes_below(out)) <= set(wanted)
    assert mount("-o", "remount,size=16m", str(small_disk))
    prepared = prepare(out)
    assert (prepared.num_videos, prepared.left_out) == (3, [])
    assert sizes_below(out) == wanted
    assert open_catalog(out).digest == open_catalog(tmp_path / "whole").digest

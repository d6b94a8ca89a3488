"""Over a corpus of real and odd files: each is copied in every layout, or left out for a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from filmgate.catalog import index_videos, open_catalog
from filmgate.errors import UserError
from filmgate.prepare.copies import prepare_copies
from filmgate.prepare.recipe import Recipe
from filmgate.work import LocalExecutor
from tests.prepare.copying import LAYOUTS, Copied, differences, same_times

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "videos"
SHORT_SIDE = 64
TOLERANCE = 6.0
"""Levels between cells of 8x8 pixels, on average."""
SOUND_REASONS = (
    "change shape on the way", "it is HDR", "is shown for no time", "change size or format",
    "change their colour tags", "does not come out", "cannot be decoded", "pictures were made of",
    "takes no side of less than",
)  # fmt: skip
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="needs the video corpus")


@needs_corpus
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_file_is_copied_or_left_out_with_a_sound_reason(layout: str, tmp_path: Path) -> None:
    source = index_videos(CORPUS, tmp_path / "source", labels=None, workers=2)
    recipe = Recipe(layout=LAYOUTS[layout], short_side=SHORT_SIDE)
    executor = LocalExecutor(workers=2)
    prepared = prepare_copies(source, tmp_path / "made", recipe, executor=executor)
    copies = open_catalog(tmp_path / "made")
    pair = Copied(source=source, copies=copies, prepared=prepared)
    assert prepared.num_videos + len(prepared.left_out) == source.num_videos
    row_of = {source.video(row).video_id: row for row in range(source.num_videos)}
    for one in prepared.left_out:
        assert any(reason in one.reason for reason in SOUND_REASONS), one
    for copy_row in range(copies.num_videos):
        video_id = copies.video(copy_row).video_id
        row = row_of[video_id]
        assert same_times(pair, row, copy_row), video_id
        if source.video(row).interlacing not in ("top-first", "bottom-first"):
            assert differences(pair, row, copy_row).mean() < TOLERANCE, video_id


@needs_corpus
def test_nothing_of_the_broken_files_is_taken_for_a_copy(tmp_path: Path) -> None:
    source = index_videos(CORPUS / "broken", tmp_path / "source", labels=None, workers=0)
    recipe = Recipe(layout=LAYOUTS["temporal"])
    try:
        prepared = prepare_copies(
            source, tmp_path / "made", recipe, executor=LocalExecutor(workers=0)
        )
    except UserError as error:
        assert "could be copied" in error.message
        return
    assert prepared.num_videos + len(prepared.left_out) == source.num_videos

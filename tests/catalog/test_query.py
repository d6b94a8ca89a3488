"""Conditions on the rows of a catalog."""

from __future__ import annotations

from pathlib import Path

import pytest

from filmgate.catalog import Catalog, index_videos
from filmgate.catalog.query import rows_where
from filmgate.errors import UserError


@pytest.fixture(scope="module")
def catalog(footage: Path, tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """cold/cold0, cold/cold1, warm/warm0, warm/warm1; 96x64, 60 frames, 2.4 s."""
    return index_videos(footage, tmp_path_factory.mktemp("catalog") / "c", workers=0)


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ('label == "warm"', [2, 3]),
        ('label != "warm"', [0, 1]),
        ('not label == "warm"', [0, 1]),
        ('label in ["warm", "hot"]', [2, 3]),
        ('label not in ("warm", "hot")', [0, 1]),
        ("duration_seconds < 30 and width >= 96", [0, 1, 2, 3]),
        ("1 < duration_seconds < 2", []),
        ("1 < duration_seconds <= 2.5", [0, 1, 2, 3]),
        ("60 == num_frames", [0, 1, 2, 3]),
        ('glob(video_id, "*/*0.mp4")', [0, 2]),
        ('glob(video_id, "warm/?arm1.mp4")', [3]),
        ('glob(video_id, "warm")', []),
        ('glob(path, "*/cold/*") or glob(video_id, "*1.mp4")', [0, 1, 3]),
        ("size_bytes > 1000", [0, 1, 2, 3]),
        ("size_bytes > -1 and has_audio", []),
        ("source_digest == None", [0, 1, 2, 3]),
        ("source_digest is not None", []),
        ('source_digest == "x" or label == "warm"', [2, 3]),
    ],
)
def test_a_condition_gives_the_rows_for_which_it_holds(
    catalog: Catalog, condition: str, rows: list[int]
) -> None:
    assert rows_where(catalog, condition).tolist() == rows


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("label = 'warm'", "is no condition"),
        ("labl == 'warm'", "no column 'labl'"),
        ("label", "no yes or no"),
        ("3 < 4", "needs the name of a column"),
        ("label < 3", "cannot be used"),
        ("__import__('os').system('true')", "cannot stand in a condition"),
        ("label.upper() == 'WARM'", "cannot stand in a condition"),
        ("label in 'warm'", "no list"),
        ("glob(video_id, 3)", "pattern in quotes"),
        ("[label for label in path]", "cannot stand in a condition"),
        ("", "is no condition"),
    ],
)
def test_what_is_no_condition_is_refused_with_an_example(
    catalog: Catalog, condition: str, said: str
) -> None:
    with pytest.raises(UserError, match=said) as raised:
        rows_where(catalog, condition)
    assert raised.value.hint


def test_an_unknown_column_is_answered_with_the_nearest(catalog: Catalog) -> None:
    with pytest.raises(UserError) as raised:
        rows_where(catalog, "duration > 3")
    assert raised.value.hint == "did you mean duration_seconds?"

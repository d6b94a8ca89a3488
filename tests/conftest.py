"""Fixtures that several rooms' tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.footage import write_video


@pytest.fixture(scope="session")
def footage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two folders (labels) with two short videos each; no test may change it."""
    root = tmp_path_factory.mktemp("footage")
    for label, hue in (("cold", 20), ("warm", 140)):
        (root / label).mkdir()
        for number in range(2):
            write_video(root / label / f"{label}{number}.mp4", num_frames=60, hue=hue + number * 7)
    return root

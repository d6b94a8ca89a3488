"""Fixtures that several rooms' tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from tests.footage import write_video

# A busy machine makes single examples slow; the time limit is per test.
settings.register_profile("filmgate", deadline=None)
settings.load_profile("filmgate")


@pytest.fixture(scope="session")
def footage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two folders (labels) with two short videos each; no test may change it."""
    root = tmp_path_factory.mktemp("footage")
    for label, hue in (("cold", 20), ("warm", 140)):
        (root / label).mkdir()
        for number in range(2):
            write_video(root / label / f"{label}{number}.mp4", num_frames=60, hue=hue + number * 7)
    return root

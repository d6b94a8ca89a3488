"""Fixtures that several rooms' tests share."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

from tests.footage import write_video
from tests.ray_nodes import cluster

__all__ = ["cluster", "footage"]

# A busy machine makes single examples slow; the time limit is per test.
settings.register_profile("filmgate", deadline=None)
settings.load_profile("filmgate")

# A shell starts background jobs with Ctrl-C ignored, nohup any command with SIGHUP ignored, and
# what they start inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def footage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two folders (labels) with two short videos each; no test may change it."""
    root = tmp_path_factory.mktemp("footage")
    for label, hue in (("cold", 20), ("warm", 140)):
        (root / label).mkdir()
        for number in range(2):
            write_video(root / label / f"{label}{number}.mp4", num_frames=60, hue=hue + number * 7)
    return root


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-gpu",
        action="store_true",
        help="GPU tests fail where there is no GPU, instead of being skipped",
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") is None:
        return
    import torch

    if not torch.cuda.is_available():
        reason = f"torch {torch.__version__} sees no NVIDIA GPU"
        if item.config.getoption("--require-gpu"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)

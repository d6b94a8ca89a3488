"""GPU tests are skipped on a laptop, and fail in the job that should have the GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENT_SECONDS

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")


def run_gpu_tests(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "tests/tools/test_setup.py", *options]
    return subprocess.run(
        command,
        cwd=Path(__file__).resolve().parents[1],
        capture_output=True,
        text=True,
        timeout=PATIENT_SECONDS,
        check=False,
    )


def test_a_gpu_test_is_skipped_where_there_is_no_gpu() -> None:
    done = run_gpu_tests()
    assert done.returncode == 0
    assert "1 skipped" in done.stdout


def test_a_gpu_test_fails_where_a_gpu_is_required() -> None:
    done = run_gpu_tests("--require-gpu")
    assert done.returncode == 1
    assert "sees no NVIDIA GPU" in done.stdout

"""Disks that fill up: small file systems in memory, where a test may mount them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.patience import PATIENT_SECONDS


def mount(*options: str) -> bool:
    """Whether it could be mounted."""
    try:
        done = subprocess.run(
            ["mount", *options], capture_output=True, timeout=PATIENT_SECONDS, check=False
        )
    except FileNotFoundError:
        return False
    return done.returncode == 0


@contextmanager
def mounted_disk(folder: Path, size: str) -> Iterator[Path]:
    """A disk of its own at ``folder``, of a size such as ``1m``; skips the test without root."""
    folder.mkdir()
    if not mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)):
        pytest.skip("mounting a small disk needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True, timeout=PATIENT_SECONDS)

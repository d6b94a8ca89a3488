"""The shared corpus of odd videos beside the checkout, where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest

VIDEOS = Path(__file__).resolve().parents[2].parent / "shared" / "videos"
SOUND = sorted([*VIDEOS.glob("real/*"), *VIDEOS.glob("synthetic/*")])
BROKEN = VIDEOS / "broken"

needs_corpus = pytest.mark.skipif(not SOUND, reason="the shared video corpus is not here")


def reference(path: Path) -> list[str]:
    """The md5 of every displayed frame, as an independent decoder gave them."""
    lines = (VIDEOS / "reference" / f"{path.name}.framemd5").read_text().splitlines()
    return [line.split(",")[-1].strip() for line in lines if not line.startswith("#")]

"""What a part of the bench is asked for, and how it tells how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Tell = Callable[[int, int, str], None]
"""Hears (done, total, what is measured now)."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What every part is asked for; a part takes what it has a use for."""

    quick: bool = False
    """Fewer and shorter repetitions."""
    folder: Path | None = None
    """Where files may be laid out; None: the current folder."""
    videos: tuple[Path, ...] = ()
    """Catalogs, folders or files of the user's own; empty: the demo clips, or files of our own."""
    job: Path | None = None
    """Job file whose demand the figures are held against."""
    device: str | None = None
    """``cpu``, ``cuda`` or ``cuda:1``; None: what there is."""

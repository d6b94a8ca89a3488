"""Copying one video or a folder of them, and looking at both sides with the feed's reader."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from filmgate.catalog import Catalog, index_videos, open_catalog
from filmgate.feed import ClipReader
from filmgate.prepare.copies import Prepared, prepare_copies
from filmgate.prepare.recipe import Layout, Recipe
from filmgate.work import LocalExecutor

TEMPORAL = Layout(name="temporal", codec="h264", quality=14, key_every=8, reference_every=4)
LAYOUTS = {
    "temporal": TEMPORAL,
    "mpeg4": Layout(name="temporal", codec="mpeg4", quality=2, key_every=8, reference_every=4),
    "hevc": Layout(name="short-gop", codec="hevc", quality=14, key_every=8),
    "av1": Layout(name="short-gop", codec="av1", quality=10, key_every=8),
    "intra": Layout(name="intra", codec="h264", quality=14),
    "jpeg": Layout(name="jpeg", codec="jpeg", quality=2),
    "decoded": Layout(name="decoded", codec="raw", quality=0),
}
CELL = 8
"""Side of the squares whose means are compared: what codecs and scalers do to edges averages out,
a wrong colour, turn or frame does not."""


@dataclass(frozen=True, kw_only=True)
class Copied:
    source: Catalog
    copies: Catalog
    prepared: Prepared


def copied(path: Path, folder: Path, recipe: Recipe) -> Copied:
    """A copy of a video or of all in a folder; raises what ``prepare_copies`` raises."""
    source = index_videos(path, folder / "source", labels=None, workers=0)
    executor = LocalExecutor(workers=0)
    prepared = prepare_copies(source, folder / "made", recipe, executor=executor)
    return Copied(source=source, copies=open_catalog(folder / "made"), prepared=prepared)


def same_times(pair: Copied, row: int = 0, copy_row: int = 0) -> bool:
    old, new = pair.source.frame_table(row), pair.copies.frame_table(copy_row)
    count = old.num_frames
    return [new.seconds(n) for n in range(new.num_frames)] == [
        old.seconds(n) for n in range(count)
    ] and new.duration_seconds == old.duration_seconds


def largest_difference(pair: Copied, *, num_frames: int = 4) -> float:
    """Levels of 255 between cells of the first source and its copy."""
    return float(differences(pair, 0, 0, num_frames=num_frames).max())


def differences(pair: Copied, row: int, copy_row: int, *, num_frames: int = 4) -> np.ndarray:
    """Levels of 255 between the cells of some frames, both sides read at the copy's size."""
    facts = pair.copies.video(copy_row)
    size = facts.height, facts.width
    count = pair.copies.video(copy_row).num_frames
    frames = sorted({round(n * (count - 1) / max(1, num_frames - 1)) for n in range(num_frames)})
    with ClipReader(pair.source, size=size) as before, ClipReader(pair.copies, size=size) as after:
        one, other = before.read(row, frames), after.read(copy_row, frames)
    return np.abs(cells(one) - cells(other))


def cells(clip_THWC: np.ndarray) -> np.ndarray:
    frames, height, width, colours = clip_THWC.shape
    rows, columns = height // CELL, width // CELL
    cut = clip_THWC[:, : rows * CELL, : columns * CELL].astype(float)
    return cut.reshape(frames, rows, CELL, columns, CELL, colours).mean(axis=(2, 4))

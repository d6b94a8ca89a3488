"""How often each video is to be shown, by a CSV file.

V videos.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from filmgate.catalog.catalog import Catalog
from filmgate.errors import UserError
from filmgate.records.csv_file import csv_rows, fault

_HINT = 'weights in [data] is "equal", "class-balanced", or the path of a CSV file'
NUM_NAMED = 3
"""Videos that are named when more than one has no weight."""


def read_weights(file: Path, catalog: Catalog) -> NDArray[np.float64]:
    """(V,) the weight of each video of the catalog.

    The columns are ``video`` (its id, or its path: absolute or from the file's folder) and
    ``weight``. Raises UserError, with the line, for a video that is unknown or listed twice and
    for a weight that is no number or negative; and when a video is missing or all weights are 0.
    """
    rows_of = _names(catalog)
    weights_V = np.full(catalog.num_videos, np.nan)
    for line, row in csv_rows(file, ("video", "weight"), hint=_HINT):
        name = (row.get("video") or "").strip()
        number = rows_of.get(name, rows_of.get(str(file.absolute().parent / name)))
        if number is None:
            found = f"{name!r} is none of the {catalog.num_videos} videos"
            raise fault(file, line, found, "write its id or path as the catalog has it")
        if not math.isnan(weights_V[number]):
            raise fault(file, line, f"{name!r} is listed twice", "keep one line per video")
        weights_V[number] = _number(file, line, row.get("weight"))
    _refuse_missing(file, catalog, weights_V)
    return weights_V


def _names(catalog: Catalog) -> dict[str, int]:
    """Path or id -> row; an id wins over a path."""
    rows_of: dict[str, int] = {}
    if catalog.header.copy is not None:
        rows_of = _source_paths(catalog)
    for column in ("path", "video_id"):
        names = catalog.column(column).to_pylist()
        rows_of.update((name, row) for row, name in enumerate(names))
    return rows_of


def _source_paths(catalog: Catalog) -> dict[str, int]:
    """Path that the source of each training copy had below its root -> row."""
    roots = [Path(root) for root in catalog.header.roots]
    rows_of = {}
    for row, video_id in enumerate(catalog.column("video_id").to_pylist()):
        for root in roots:
            # With several roots an id begins with the name of its root; a root may be a file.
            is_own = len(roots) == 1 and root.name != video_id
            rows_of[str((root if is_own else root.parent) / video_id)] = row
    return rows_of


def _number(file: Path, line: int, text: str | None) -> float:
    try:
        weight = float(text or "")
    except ValueError:
        weight = math.nan
    if not 0 <= weight <= 1e12:
        raise fault(
            file,
            line,
            f"the weight is {(text or '').strip()!r}",
            "write a number from 0 to 1e12, 0 for a video that is never to be shown",
        )
    return weight


def _refuse_missing(file: Path, catalog: Catalog, weights_V: NDArray[np.float64]) -> None:
    missing = np.flatnonzero(np.isnan(weights_V)).tolist()
    if missing:
        named = ", ".join(catalog.video(row).video_id for row in missing[:NUM_NAMED])
        more = f" and {len(missing) - NUM_NAMED} more" if len(missing) > NUM_NAMED else ""
        raise UserError(
            f"{file} has no weight for {len(missing)} of {catalog.num_videos} videos: "
            f"{named}{more}",
            hint="add a line for each; 0 for a video that is never to be shown",
        )
    if not weights_V.any():
        raise UserError(f"{file}: every weight is 0", hint="give some video a weight above 0")

"""What each video shows: the name of its folder, or a row of a CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from filmgate.catalog.find import Found
from filmgate.records.csv_file import csv_rows, fault

Labels = Literal["folder"] | Path | None

_HINT = "--labels takes 'folder', 'none', or the path of a CSV file"


def labels_of(videos: Sequence[Found], labels: Labels, roots: Sequence[Path]) -> list[str | None]:
    """The label of each video, in the same order.

    Raises UserError for a CSV file that does not fit, with its line.
    """
    if labels is None:
        return [None] * len(videos)
    if labels == "folder":
        return [video.folder_label for video in videos]
    by_path = _read_csv(labels, videos, roots)
    return [by_path.get(video.path) for video in videos]


def _read_csv(file: Path, videos: Sequence[Found], roots: Sequence[Path]) -> dict[Path, str]:
    """Path -> label. Paths in the file are absolute, or relative to a root or to the file."""
    known = {video.path for video in videos}
    places = [*(root.absolute() for root in roots), file.absolute().parent]
    by_path: dict[Path, str] = {}
    for line, row in csv_rows(file, ("path", "label"), hint=_HINT):
        name, label = (row.get("path") or "").strip(), (row.get("label") or "").strip()
        if not name or not label:
            raise fault(file, line, "a path and a label are needed", "fill both columns")
        path = next((place / name for place in places if place / name in known), None)
        if path is None:
            hint = "write paths as they are below the indexed folder, or remove the line"
            raise fault(file, line, f"{name!r} is none of the {len(known)} videos", hint)
        if by_path.setdefault(path, label) != label:
            found = f"{name!r} is labelled {label!r} after {by_path[path]!r}"
            raise fault(file, line, found, "keep one label per video")
    return by_path

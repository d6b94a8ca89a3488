"""What each video shows: the name of its folder, or a row of a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from filmgate.catalog.find import Found
from filmgate.errors import UserError

Labels = Literal["folder"] | Path | None

_EXTRA = "columns without a name"


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
    for line, row in _rows(file):
        name, label = (row.get("path") or "").strip(), (row.get("label") or "").strip()
        if not name or not label:
            raise _fault(file, line, "a path and a label are needed", "fill both columns")
        path = next((place / name for place in places if place / name in known), None)
        if path is None:
            hint = "write paths as they are below the indexed folder, or remove the line"
            raise _fault(file, line, f"{name!r} is none of the {len(known)} videos", hint)
        if by_path.setdefault(path, label) != label:
            found = f"{name!r} is labelled {label!r} after {by_path[path]!r}"
            raise _fault(file, line, found, "keep one label per video")
    return by_path


def _rows(file: Path) -> list[tuple[int, dict[str, str | None]]]:
    try:
        with file.open(newline="", encoding="utf-8-sig") as text:
            reader = csv.DictReader(text, restkey=_EXTRA)
            if not {"path", "label"} <= set(reader.fieldnames or ()):
                found = f"columns are {', '.join(reader.fieldnames or ['missing'])}"
                raise _fault(file, 1, found, "the first line names the columns path,label")
            rows = [(reader.line_num, row) for row in reader]
    except OSError as error:
        raise UserError(
            f"{file}: {error.strerror}",
            hint="--labels takes 'folder', 'none', or the path of a CSV file",
        ) from None
    except UnicodeDecodeError:
        raise UserError(f"{file} is not UTF-8 text", hint="save it as UTF-8 CSV") from None
    except csv.Error as error:
        hint = "is a closing quotation mark missing? save it as CSV again"
        raise UserError(f"{file} is no CSV: {error}", hint=hint) from None
    for line, row in rows:
        if _EXTRA in row:
            found = "more columns than the first line names"
            raise _fault(file, line, found, 'write a label with a comma as "one, two"')
    return rows


def _fault(file: Path, line: int, found: str, hint: str) -> UserError:
    return UserError(f"{file} line {line}: {found}", hint=hint)

"""YOLO's text files: a line for each object, in shares of the picture.

Source: the detect and segment pages of docs.ultralytics.com. ``class cx cy w h`` is a box,
``class x y x y x y ...`` an outline. Label files lie beside the images, or in a ``labels`` folder
in the place of ``images``; an image without one has no object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from filmgate.errors import UserError
from filmgate.pack.annotated import Drawn
from filmgate.pack.faults import Faults
from filmgate.pack.mask import Polygons
from filmgate.pack.names import ImageNames

_NAME_FILES = ("data.yaml", "dataset.yaml", "classes.txt", "obj.names")
_NO_LABELS = {"classes.txt", "train.txt", "val.txt", "test.txt"}
_HINT = "names: {0: cat, 1: dog}, a list, or a line for each; or classes.txt with a line for each"


def read_yolo(path: Path, names: ImageNames, faults: Faults) -> tuple[list[str], Iterator[Drawn]]:
    """Class names and objects of a folder of label files, or of the folder of a ``data.yaml``.

    Without a file of names the classes are called by their numbers. Raises UserError for a folder
    without label files, and names that cannot be read.
    """
    if not path.exists():
        raise UserError(f"{path} does not exist", hint="name the folder of labels, or data.yaml")
    folder = path if path.is_dir() else path.parent
    files = [file for file in sorted(folder.rglob("*.txt")) if file.name not in _NO_LABELS]
    if not files:
        raise UserError(f"no label file in {folder}", hint="YOLO labels are .txt files")
    classes = _class_names(path)
    if classes is None:
        classes = [str(number) for number in range(_highest_class(files) + 1)]
    return classes, _objects(files, folder, classes, names, faults)


def _class_names(path: Path) -> list[str] | None:
    if path.is_file():
        return _names_in(path)
    for folder in (path, path.parent):
        for name in _NAME_FILES:
            if (folder / name).is_file():
                return _names_in(folder / name)
    return None


def _names_in(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix not in (".yaml", ".yml"):
        return [line.strip() for line in text.splitlines() if line.strip()]
    names = yaml_names(text)
    if not names:
        raise UserError(f"{path} has no names that can be read", hint=_HINT)
    return names


def yaml_names(text: str) -> list[str]:
    """The ``names`` of a data.yaml: a list or numbered, in one line or in many; empty for none."""
    lines = [re.sub(r"(^|\s)#.*$", "", line).rstrip() for line in text.splitlines()]
    start = next((row for row, line in enumerate(lines) if line.startswith("names:")), None)
    if start is None:
        return []
    block = [lines[start].removeprefix("names:").strip()]
    for line in lines[start + 1 :]:
        if line and not line.startswith((" ", "-", "]", "}")):
            break
        block.append(line.strip())
    words = " ".join(block).strip()
    if words.startswith(("[", "{")):
        items = words.strip("[]{}").split(",")
    else:
        items = [line for line in block if line]
    return _numbered([item.strip().removeprefix("- ").strip() for item in items if item.strip()])


def _numbered(items: list[str]) -> list[str]:
    """Names in the order of their numbers, where they have numbers; empty where these have gaps."""
    pairs = [re.fullmatch(r"(\d+)\s*:\s*(.+)", item) for item in items]
    if not any(pairs):
        return [item.strip("'\"") for item in items]
    names = {int(pair[1]): pair[2].strip("'\"") for pair in pairs if pair is not None}
    if sorted(names) != list(range(len(items))):
        return []
    return [names[number] for number in range(len(names))]


def _highest_class(files: list[Path]) -> int:
    highest = 0
    for file in files:
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            word = line.split(maxsplit=1)[:1]
            if word and word[0].isdigit():
                highest = max(highest, int(word[0]))
    return highest


def _objects(
    files: list[Path], folder: Path, classes: list[str], names: ImageNames, faults: Faults
) -> Iterator[Drawn]:
    for file in files:
        rows = names.rows_of_stem(file.relative_to(folder).as_posix())
        if len(rows) != 1:
            kind = "ambiguous-image" if rows else "unknown-image"
            faults.note(kind, str(file.relative_to(folder)))
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            if line.strip():
                where = f"{file.relative_to(folder)}:{number}"
                drawn = _drawn(line, rows[0], classes, names, where, faults)
                if drawn is not None:
                    yield drawn


def _drawn(
    line: str, row: int, classes: list[str], names: ImageNames, where: str, faults: Faults
) -> Drawn | None:
    try:
        class_number, *values = (float(word) for word in line.split())
    except ValueError:
        faults.note("bad-line", f"{where}: {line.strip()[:60]}")
        return None
    if class_number != int(class_number) or not 0 <= class_number < len(classes):
        faults.note("unknown-category", f"{where}: class {class_number:g} of {len(classes)}")
        return None
    height, width = names.upright(row)
    mask = None
    if len(values) == 4:
        x, y, w, h = values
        box = ((x - w / 2) * width, (y - h / 2) * height, (x + w / 2) * width,
               (y + h / 2) * height)  # fmt: skip
    elif len(values) >= 6 and len(values) % 2 == 0:
        ring = np.array(values).reshape(-1, 2) * (width, height)
        mask = Polygons(rings=(ring,))
        box = (*ring.min(0).tolist(), *ring.max(0).tolist())
    else:
        faults.note("bad-line", f"{where}: {len(values)} numbers after the class")
        return None
    return Drawn(
        image_id=names.image_id(row), class_name=classes[int(class_number)], box=box, mask=mask,
        size=(height, width), where=where,
    )  # fmt: skip

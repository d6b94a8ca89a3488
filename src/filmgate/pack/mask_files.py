"""Mask images: what a pixel shows, by its number.

``masks``: the number is the class (semantic segmentation); 255 is ignored, and so is 0 unless
``names.txt`` beside the masks says what it is. Each class of a picture becomes one object.
``instances``: each number but 0 and 255 is one object of the class ``object``.
Palettes stand for their numbers, as in PASCAL VOC.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from filmgate.errors import UserError
from filmgate.pack.annotated import Drawn
from filmgate.pack.faults import Faults
from filmgate.pack.mask import box_of_pixels, pixels_runs
from filmgate.pack.names import ImageNames

IGNORED = 255
NAMES_FILE = "names.txt"
_NUMBER_MODES = ("1", "P", "L", "I", "I;16")


def read_masks(
    path: Path, names: ImageNames, faults: Faults, *, are_instances: bool
) -> tuple[list[str], Iterator[Drawn]]:
    """Class names and objects of a folder of masks, each called like its image.

    Raises UserError for a folder without PNG files.
    """
    if not path.is_dir():
        raise UserError(f"{path} is no folder", hint="name the folder of the mask images")
    files = sorted(path.rglob("*.png"))
    if not files:
        raise UserError(f"no PNG file in {path}", hint="masks are PNG files called like the images")
    classes = ["object"]
    first = 1
    if not are_instances:
        given = path / NAMES_FILE
        first = 0 if given.is_file() else 1
        classes = (
            [
                line.strip()
                for line in given.read_text(encoding="utf-8").splitlines()
                if line.strip()
            ]
            if given.is_file()
            else [str(number) for number in range(first, _highest(files, faults) + 1)]
        )
    return classes, _objects(files, path, classes, first, names, faults, are_instances)


def _highest(files: list[Path], faults: Faults) -> int:
    highest = 0
    for file in files:
        numbers = _numbers(file, None)
        if numbers is not None:
            kept = numbers[numbers != IGNORED]
            highest = max(highest, int(kept.max(initial=0)))
    return highest


def _objects(
    files: list[Path],
    folder: Path,
    classes: list[str],
    first: int,
    names: ImageNames,
    faults: Faults,
    are_instances: bool,
) -> Iterator[Drawn]:
    for file in files:
        name = file.relative_to(folder).as_posix()
        rows, numbers = names.rows_of_stem(name), None
        if len(rows) != 1:
            faults.note("ambiguous-image" if rows else "unknown-image", name)
        else:
            numbers = _numbers(file, faults)
        if numbers is None:
            continue
        size = (numbers.shape[0], numbers.shape[1])
        for number in np.unique(numbers).tolist():
            if number == IGNORED or number < (1 if are_instances else first):
                continue
            place = 0 if are_instances else number - first
            if place >= len(classes):
                faults.note("unknown-category", f"{name}: {number} of {len(classes)} classes")
                continue
            pixels = numbers == number
            yield Drawn(
                image_id=names.image_id(rows[0]), class_name=classes[place],
                box=box_of_pixels(pixels), mask=pixels_runs(pixels), size=size,
                where=f"{name}: {number}",
            )  # fmt: skip


def _numbers(file: Path, faults: Faults | None) -> NDArray[np.int64] | None:
    """(H, W) the number of each pixel; None, and a fault, where a file has none."""
    try:
        with Image.open(file) as image:
            if image.mode in _NUMBER_MODES:
                numbers: NDArray[np.int64] = np.asarray(image).astype(np.int64)
                return numbers
            reason = f"its pixels are {image.mode} and no numbers"
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        reason = f"it does not come out: {error}"
    if faults is not None:
        faults.note("bad-mask", f"{file.name}: {reason}")
    return None

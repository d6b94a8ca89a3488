"""Small real image files for the tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from tests.footage import picture

ORIENTATION_TAG = 0x0112


def write_image(
    path: Path, index: int = 0, *, width: int = 96, height: int = 64, orientation: int | None = None
) -> Path:
    """Picture ``index`` as the kind of file that the name says, with an EXIF orientation."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(picture(index, width, height))
    exif = Image.Exif()
    if orientation is not None:
        exif[ORIENTATION_TAG] = orientation
    image.save(path, exif=exif)
    return path


def write_images(folder: Path, num_images: int, *, suffix: str = ".png", first: int = 0) -> Path:
    """Images ``0000.png`` and so on; the folder."""
    for index in range(first, first + num_images):
        write_image(folder / f"{index:04}{suffix}", index)
    return folder


def write_pixels(path: Path, pixels: np.ndarray) -> Path:
    """An array as a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path

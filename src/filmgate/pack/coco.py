"""COCO's JSON: boxes, polygons, runs, crowds, categories.

Source: the data format page of cocodataset.org. Boxes are x, y, width, height.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from filmgate.errors import UserError
from filmgate.pack.annotated import Drawn
from filmgate.pack.faults import Faults
from filmgate.pack.mask import Mask, Polygons, Runs, check_runs, counts_of_text, rings_of
from filmgate.pack.names import ImageNames

Number = int | float
Id = int | str


class _Image(msgspec.Struct):
    id: Id
    file_name: str
    width: int | None = None
    height: int | None = None


class _Category(msgspec.Struct):
    id: int
    name: str


class _Runs(msgspec.Struct):
    size: tuple[int, int]
    counts: str | list[int]


class _Annotation(msgspec.Struct):
    image_id: Id
    category_id: int
    id: Id | None = None
    bbox: list[Number] | None = None
    segmentation: list[list[Number]] | _Runs | None = None
    iscrowd: int = 0
    track_id: int | None = None


class _File(msgspec.Struct):
    images: list[_Image]
    categories: list[_Category]
    annotations: list[_Annotation] = []


def read_coco(path: Path, names: ImageNames, faults: Faults) -> tuple[list[str], Iterator[Drawn]]:
    """Class names, by category id, and the objects. Raises UserError for a file of another kind."""
    file = _read(path)
    categories = sorted(file.categories, key=lambda one: one.id)
    _refuse_twins(path, categories)
    ids = [one.id for one in categories]
    if ids and ids[-1] - ids[0] + 1 != len(ids):
        gap = f"{path.name}: ids {ids[0]} to {ids[-1]} for {len(ids)} categories"
        faults.note("category-gap", gap, done="kept")
    return [one.name for one in categories], _objects(path, file, names, faults)


def coco_rows(path: Path, names: ImageNames) -> list[int]:
    """Rows of the images that the file lists, as far as each name means one."""
    found = (names.rows_of(image.file_name) for image in _read(path).images)
    return [rows[0] for rows in found if len(rows) == 1]


def _read(path: Path) -> _File:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}", hint="check its path") from None
    except msgspec.DecodeError as error:
        hint = "COCO files have images, annotations and categories"
        raise UserError(f"{path} is no COCO file: {error}", hint=hint) from None


def _refuse_twins(path: Path, categories: list[_Category]) -> None:
    for what in ("id", "name"):
        seen = set[object]()
        for one in categories:
            value = getattr(one, what)
            if value in seen:
                raise UserError(
                    f"{path}: two categories have the {what} {value!r}", hint="rename one of them"
                )
            seen.add(value)


def _objects(path: Path, file: _File, names: ImageNames, faults: Faults) -> Iterator[Drawn]:
    images = _images(path, file, names, faults)
    categories = {one.id: one.name for one in file.categories}
    seen = set[Id]()
    known = {image.id for image in file.images}
    for place, one in enumerate(file.annotations):
        where = f"{path.name}: annotation {one.id if one.id is not None else f'number {place}'}"
        if one.id is not None and one.id in seen:
            faults.note("duplicate-id", where)
            continue
        if one.id is not None:
            seen.add(one.id)
        if one.category_id not in categories:
            faults.note("unknown-category", f"{where}: category {one.category_id}")
        elif one.image_id not in known:
            faults.note("unknown-image-id", f"{where}: image {one.image_id}")
        elif (image := images.get(one.image_id)) is not None:
            drawn = _drawn(one, *image, categories[one.category_id], where, faults)
            if drawn is not None:
                yield drawn


def _images(
    path: Path, file: _File, names: ImageNames, faults: Faults
) -> dict[Id, tuple[str, tuple[int, int] | None]]:
    """Image id -> id in the pack, and height and width where the file tells them."""
    images: dict[Id, tuple[str, tuple[int, int] | None]] = {}
    seen: dict[Id, str] = {}
    for image in file.images:
        if image.id in seen:
            hint = "each image needs an id of its own"
            raise UserError(f"{path}: two images have the id {image.id}", hint=hint)
        seen[image.id] = image.file_name
        rows = names.rows_of(image.file_name)
        if len(rows) != 1:
            kind = "ambiguous-image" if rows else "unknown-image"
            faults.note(kind, f"{path.name}: {image.file_name}")
            continue
        size = (image.height, image.width) if image.height and image.width else None
        images[image.id] = names.image_id(rows[0]), size
    return images


def _drawn(
    one: _Annotation,
    image_id: str,
    size: tuple[int, int] | None,
    class_name: str,
    where: str,
    faults: Faults,
) -> Drawn | None:
    try:
        mask = _mask(one.segmentation)
    except ValueError as error:
        faults.note("bad-mask", f"{where}: {error}")
        return None
    if one.bbox is None or len(one.bbox) != 4:
        faults.note("no-box", where)
        return None
    x, y, width, height = one.bbox
    return Drawn(
        image_id=image_id,
        class_name=class_name,
        box=(x, y, x + width, y + height),
        mask=mask,
        track_id=one.track_id,
        is_crowd=bool(one.iscrowd),
        size=size,
        where=where,
    )


def _mask(segmentation: list[list[Number]] | _Runs | None) -> Mask | None:
    if not segmentation:
        return None
    if isinstance(segmentation, list):
        return Polygons(rings=rings_of(segmentation))
    counts = segmentation.counts
    decoded = counts_of_text(counts) if isinstance(counts, str) else np.array(counts, np.int64)
    runs = Runs(size=segmentation.size, counts=decoded)
    check_runs(runs)
    return runs

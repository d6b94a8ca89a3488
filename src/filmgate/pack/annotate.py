"""Annotations of a pack: every format read into one shape, checked, and turned upright."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from filmgate.errors import UserError
from filmgate.pack.annotated import Drawn, write_objects
from filmgate.pack.coco import read_coco
from filmgate.pack.cvat import read_cvat
from filmgate.pack.faults import Faults
from filmgate.pack.mask import Mask, Polygons, Runs, pixels_runs, runs_pixels
from filmgate.pack.mask_files import read_masks
from filmgate.pack.names import ImageNames, Size
from filmgate.pack.rows import AnnotationFacts
from filmgate.pack.turn import upright_points
from filmgate.pack.yolo import read_yolo
from filmgate.records import Record, digest_bytes, digest_file

Format = Literal["coco", "yolo", "masks", "instances", "cvat"]
FORMATS = get_args(Format)


class AnnotationRules(Record, frozen=True):
    """What is done with annotations that do not fit their pictures."""

    outside: Literal["keep", "clip", "drop"] = "keep"
    """A box that reaches past its picture. The feed cuts it at the window's edges anyway."""
    drawn_on: Literal["auto", "upright", "stored"] = "auto"
    """Which picture coordinates belong to where EXIF turns it: ``auto`` goes by the size that the
    file tells, and takes ``upright`` where that does not decide."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Annotations:
    """What was read, ready to be written."""

    classes: list[str]
    sources: dict[str, str]
    objects: list[tuple[int, int, Drawn]]
    """(image row, class number, object), by image."""
    faults: Faults

    @property
    def digest(self) -> str:
        """Over sources, classes and what was made of them."""
        lines = [f"{row} {number} {one.box} {one.track_id}" for row, number, one in self.objects]
        return digest_bytes("\n".join([*self.sources.values(), *self.classes, *lines]).encode())


class _Unfit(Exception):
    """An object that is dropped."""

    def __init__(self, kind: str, example: str) -> None:
        super().__init__(kind)
        self.kind = kind
        self.example = example


def annotate(
    wanted: Sequence[str],
    table: pa.Table,
    rules: AnnotationRules,
    frame_numbers: Mapping[str, Sequence[int]],
) -> Annotations | None:
    """Read ``format:path`` annotations for the images of a table; None for none.

    Raises UserError for a format or file that is none.
    """
    if not wanted:
        return None
    names, faults = ImageNames(table, frame_numbers), Faults()
    row_of = {names.image_id(row): row for row in range(len(names))}
    classes: dict[str, int] = {}
    sources: dict[str, str] = {}
    objects: list[tuple[int, int, Drawn]] = []
    for word in wanted:
        kind, path = _parted(word)
        found, drawn = _read(kind, path, names, faults)
        sources[word] = _digest_of(path)
        for name in found:
            classes.setdefault(name, len(classes))
        for one in drawn:
            row = row_of[one.image_id]
            try:
                fitting = _fitting(one, names, row, rules, faults)
            except _Unfit as unfit:
                faults.note(unfit.kind, unfit.example)
                continue
            objects.append((row, classes[one.class_name], fitting))
    objects.sort(key=lambda one: one[0])
    return Annotations(classes=list(classes), sources=sources, objects=objects, faults=faults)


def mask_folders(wanted: Sequence[str]) -> list[Path]:
    """Folders of images that are no images to pack, for they are masks of others."""
    parted = [_parted(word) for word in wanted]
    return [path.resolve() for kind, path in parted if kind in ("masks", "instances")]


def coco_files(wanted: Sequence[str]) -> list[Path]:
    """The COCO files among them, which may say in their names what split they list."""
    return [path for kind, path in map(_parted, wanted) if kind == "coco"]


def write_annotations(path: Path, annotations: Annotations, digest: str) -> AnnotationFacts:
    """Write them, and tell what they are."""
    write_objects(path, annotations.objects, digest)
    tracks = {one.track_id for _, _, one in annotations.objects if one.track_id is not None}
    return AnnotationFacts(
        classes=annotations.classes,
        sources=annotations.sources,
        num_objects=len(annotations.objects),
        num_images=len({row for row, _, _ in annotations.objects}),
        num_tracks=len(tracks),
        faults=annotations.faults.listed(),
        file_digest=digest_file(path),
    )


def _parted(word: str) -> tuple[Format, Path]:
    kind, _, path = word.partition(":")
    if kind not in FORMATS or not path:
        raise UserError(
            f"{word!r} names no annotations",
            hint=f"write format:path; formats: {', '.join(FORMATS)}",
        )
    return kind, Path(path)  # type: ignore[return-value]


def _read(
    kind: Format, path: Path, names: ImageNames, faults: Faults
) -> tuple[list[str], Iterator[Drawn]]:
    if kind == "coco":
        return read_coco(path, names, faults)
    if kind == "yolo":
        return read_yolo(path, names, faults)
    if kind == "cvat":
        return read_cvat(path, names, faults)
    return read_masks(path, names, faults, are_instances=kind == "instances")


def _digest_of(path: Path) -> str:
    if path.is_file():
        return digest_file(path)
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    return digest_bytes(
        *(f"{file.relative_to(path)} {digest_file(file)}\n".encode() for file in files)
    )


def _fitting(
    one: Drawn, names: ImageNames, row: int, rules: AnnotationRules, faults: Faults
) -> Drawn:
    """The object in pixels of the upright picture. Raises _Unfit for one to be dropped."""
    size = names.upright(row)
    if not np.isfinite(one.box).all():
        raise _Unfit("no-number", one.where)
    if one.size is not None and one.size not in (size, names.stored(row)):
        found = f"{one.where}: drawn on {one.size[1]}x{one.size[0]}, it is {size[1]}x{size[0]}"
        raise _Unfit("other-size", found)
    if _is_on_stored(one, names, row, rules):
        one = turned_upright(one, names.stored(row), *names.turn(row))
    if isinstance(one.mask, Runs) and one.mask.size != size:
        found = f"{one.where}: a mask of {one.mask.size[1]}x{one.mask.size[0]}"
        raise _Unfit("other-size", found)
    if one.box[2] <= one.box[0] or one.box[3] <= one.box[1]:
        raise _Unfit("zero-area", one.where)
    return _inside(one, size, rules, faults)


def _is_on_stored(one: Drawn, names: ImageNames, row: int, rules: AnnotationRules) -> bool:
    if names.turn(row) == (0, False):
        return False
    if rules.drawn_on != "auto":
        return rules.drawn_on == "stored"
    stored, upright = names.stored(row), names.upright(row)
    return one.size is not None and stored != upright and one.size == stored


def _inside(one: Drawn, size: Size, rules: AnnotationRules, faults: Faults) -> Drawn:
    height, width = size
    x1, y1, x2, y2 = one.box
    if x2 <= 0 or y2 <= 0 or x1 >= width or y1 >= height:
        raise _Unfit("beside-picture", one.where)
    if x1 >= 0 and y1 >= 0 and x2 <= width and y2 <= height:
        return one
    if rules.outside == "drop":
        raise _Unfit("outside-picture", one.where)
    if rules.outside == "keep":
        faults.note("outside-picture", one.where, done="kept")
        return one
    faults.note("outside-picture", one.where, done="clipped")
    return replace(one, box=(max(x1, 0.0), max(y1, 0.0), min(x2, width), min(y2, height)))


def turned_upright(one: Drawn, stored: Size, rotation_degrees: int, mirrored: bool) -> Drawn:
    """An object drawn on the stored picture, in pixels of the upright one."""
    corners = upright_points(
        np.array(one.box).reshape(2, 2), stored, rotation_degrees, mirrored=mirrored
    )
    (x1, y1), (x2, y2) = corners.min(0).tolist(), corners.max(0).tolist()
    return replace(
        one,
        box=(x1, y1, x2, y2),
        mask=_turned_mask(one.mask, stored, rotation_degrees, mirrored=mirrored),
    )


def _turned_mask(
    mask: Mask | None, stored: Size, rotation_degrees: int, *, mirrored: bool
) -> Mask | None:
    if isinstance(mask, Polygons):
        return Polygons(rings=tuple(_points(mask.rings, stored, rotation_degrees, mirrored)))
    if mask is None:
        return None
    pixels = runs_pixels(mask)
    pixels = pixels[:, ::-1] if mirrored else pixels
    return pixels_runs(np.rot90(pixels, k=-rotation_degrees // 90))


def _points(
    rings: Iterable[NDArray[np.float64]], stored: Size, rotation_degrees: int, mirrored: bool
) -> Iterator[NDArray[np.float64]]:
    for ring in rings:
        yield upright_points(ring, stored, rotation_degrees, mirrored=mirrored)

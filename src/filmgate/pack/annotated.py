"""What is drawn on one image: one shape for every format, and the file that keeps it.

N objects. Boxes are torchvision's: x1, y1, x2, y2 in pixels of the upright picture, (0, 0) at its
outer corner, so that x2 of a box that reaches the right edge is the width.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from filmgate.pack.arrow_file import map_arrow, write_arrow
from filmgate.pack.mask import Mask, Polygons, Runs

NO_TRACK = -1
_SCHEMA = pa.schema(
    [
        ("image", pa.int64()),
        ("class", pa.int32()),
        ("box", pa.list_(pa.float64(), 4)),
        ("track_id", pa.int64()),
        ("is_crowd", pa.bool_()),
        ("rings", pa.list_(pa.list_(pa.float64()))),
        ("runs_size", pa.list_(pa.int32())),
        ("runs", pa.list_(pa.int32())),
    ]
)


@dataclass(frozen=True, kw_only=True, eq=False)
class FrameObjects:
    """The objects of one picture."""

    boxes_N4: NDArray[np.float64]
    """x1, y1, x2, y2 in pixels."""
    classes_N: NDArray[np.int64]
    """Class numbers, from 0."""
    track_ids_N: NDArray[np.int64]
    """The same number is the same thing in all frames of a video; -1 where no track is known."""
    is_crowd_N: NDArray[np.bool_]
    """Whether it is a group that was not taken apart."""
    masks: tuple[Mask | None, ...]
    """Of each object; None where it has none."""

    def __len__(self) -> int:
        return len(self.boxes_N4)

    def take(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> FrameObjects:
        """Some of them."""
        numbers = np.arange(len(self))[which]
        return FrameObjects(
            boxes_N4=self.boxes_N4[numbers],
            classes_N=self.classes_N[numbers],
            track_ids_N=self.track_ids_N[numbers],
            is_crowd_N=self.is_crowd_N[numbers],
            masks=tuple(self.masks[number] for number in numbers.tolist()),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """One object as an annotation file has it, in pixels of the picture as ``size`` tells."""

    image_id: str
    class_name: str
    box: tuple[float, float, float, float]
    mask: Mask | None = None
    track_id: int | None = None
    is_crowd: bool = False
    size: tuple[int, int] | None = None
    """Height and width of the picture that it was drawn on; None where the file does not tell."""
    where: str = ""
    """Line or id, for people."""


NOTHING = FrameObjects(
    boxes_N4=np.zeros((0, 4)),
    classes_N=np.zeros(0, np.int64),
    track_ids_N=np.zeros(0, np.int64),
    is_crowd_N=np.zeros(0, np.bool_),
    masks=(),
)


def write_objects(path: Path, drawn: Sequence[tuple[int, int, Drawn]], digest: str) -> None:
    """Write (image number, class number, object), sorted by image, as an Arrow file."""
    write_arrow(path, objects_table(drawn), digest)


def objects_table(drawn: Iterable[tuple[int, int, Drawn]]) -> pa.Table:
    """The rows of (image number, class number, object)."""
    rows = [
        {
            "image": image,
            "class": number,
            "box": list(one.box),
            "track_id": one.track_id,
            "is_crowd": one.is_crowd,
            "rings": (
                [ring.reshape(-1) for ring in one.mask.rings]
                if isinstance(one.mask, Polygons)
                else None
            ),
            "runs_size": list(one.mask.size) if isinstance(one.mask, Runs) else None,
            "runs": one.mask.counts if isinstance(one.mask, Runs) else None,
        }
        for image, number, one in drawn
    ]
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


class Objects:
    """The objects of all images, mapped from the file; nothing is read before it is asked for."""

    def __init__(self, path: Path | None, digest: str = "") -> None:
        self._path = path
        self._digest = digest

    def of(self, image: int) -> FrameObjects:
        """What is drawn on one image."""
        if self._path is None:
            return NOTHING
        first, last = np.searchsorted(self._images, [image, image + 1]).tolist()
        if first == last:
            return NOTHING
        rows = self._table.slice(first, last - first)
        tracks = [NO_TRACK if t is None else t for t in rows.column("track_id").to_pylist()]
        return FrameObjects(
            boxes_N4=np.array(rows.column("box").to_pylist(), np.float64),
            classes_N=rows.column("class").to_numpy().astype(np.int64),
            track_ids_N=np.array(tracks, np.int64),
            is_crowd_N=np.array(rows.column("is_crowd").to_pylist(), np.bool_),
            masks=tuple(_mask(rows, row) for row in range(last - first)),
        )

    @cached_property
    def _table(self) -> pa.Table:
        assert self._path is not None
        return map_arrow(self._path, _SCHEMA, self._digest)

    @cached_property
    def _images(self) -> NDArray[np.int64]:
        images: NDArray[np.int64] = self._table.column("image").to_numpy()
        return images


def _mask(rows: pa.Table, row: int) -> Mask | None:
    rings = rows.column("rings")[row].as_py()
    if rings is not None:
        return Polygons(rings=tuple(np.array(ring).reshape(-1, 2) for ring in rings))
    size = rows.column("runs_size")[row].as_py()
    if size is None:
        return None
    counts = rows.column("runs")[row].values.to_numpy().astype(np.int64)
    return Runs(size=(size[0], size[1]), counts=counts)

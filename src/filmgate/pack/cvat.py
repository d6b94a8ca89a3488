"""CVAT's XML for video: tracks with key frames, and what lies between them.

Source: the "CVAT for video" page of docs.cvat.ai. A track holds the shapes of its key frames, and
those between as far as they were exported. Where frames are missing, boxes and polygons of as many
points are interpolated linearly; other shapes stay as they were. ``outside`` ends a stretch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from filmgate.errors import UserError
from filmgate.pack.annotated import Drawn
from filmgate.pack.faults import Faults
from filmgate.pack.mask import Bits, Mask, Polygons, pixels_runs
from filmgate.pack.names import ImageNames

_SHAPES = ("box", "polygon", "mask")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Shape:
    """A track at one frame."""

    frame: int
    kind: str
    is_outside: bool
    points_P2: NDArray[np.float64]
    """Two corners of a box, or a ring."""
    rotation_degrees: float = 0.0
    """Clockwise, of a box about its middle."""
    pixels: Bits | None = None
    """Of a mask: its own rectangle, whose upper left corner is the point."""


def read_cvat(path: Path, names: ImageNames, faults: Faults) -> tuple[list[str], Iterator[Drawn]]:
    """Class names and objects of an XML file, or of all in a folder.

    A file is about the folder of frames that is called as its task's source or name, or as the file
    itself; with one video only, about that. Raises UserError for a file that is not CVAT's.
    """
    files = sorted(path.rglob("*.xml")) if path.is_dir() else [path]
    if not files:
        raise UserError(f"no XML file in {path}", hint="export from CVAT as `CVAT for video 1.1`")
    documents = [(file, _parse(file)) for file in files]
    classes: dict[str, None] = {}
    for _, document in documents:
        for label in document.iterfind(".//labels/label/name"):
            classes.setdefault(label.text or "")
        for track in document.iterfind("track"):
            classes.setdefault(track.get("label") or "")
    return list(classes), _objects(documents, names, faults)


def _parse(file: Path) -> ElementTree.Element:
    hint = "export from CVAT as `CVAT for video 1.1`"
    try:
        root = ElementTree.parse(file).getroot()
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}", hint="check its path") from None
    except ElementTree.ParseError as error:
        raise UserError(f"{file} is no XML: {error}", hint=hint) from None
    if root.tag != "annotations":
        raise UserError(f"{file} is no CVAT file: it begins with <{root.tag}>", hint=hint)
    return root


def _objects(
    documents: list[tuple[Path, ElementTree.Element]], names: ImageNames, faults: Faults
) -> Iterator[Drawn]:
    first_track = 0
    for file, document in documents:
        video_id = _video_of(file, document, names)
        tracks = document.findall("track")
        if video_id is None:
            faults.note("unknown-video", file.name, count=max(1, len(tracks)))
            continue
        seen = set[str]()
        for place, track in enumerate(tracks):
            track_id = track.get("id") or str(place)
            if track_id in seen:
                faults.note("duplicate-id", f"{file.name}: track {track_id}")
                continue
            seen.add(track_id)
            where = f"{file.name}: track {track_id}"
            task = _Task(video_id=video_id, size=_size_of(document), where=where)
            yield from _track(track, first_track + place, task, names, faults)
        first_track += len(tracks)


def _video_of(file: Path, document: ElementTree.Element, names: ImageNames) -> str | None:
    words = [document.findtext(f".//{tag}") for tag in ("task/source", "source", "task/name")]
    stems = [PurePosixPath(word).stem for word in words if word] + [file.stem]
    for stem in stems:
        found = [one for one in names.video_ids if stem in (one, PurePosixPath(one).name)]
        if len(found) == 1:
            return found[0]
    return names.video_ids[0] if len(names.video_ids) == 1 else None


def _size_of(document: ElementTree.Element) -> tuple[int, int] | None:
    height, width = (document.findtext(f".//original_size/{tag}") for tag in ("height", "width"))
    return (int(height), int(width)) if height and width else None


@dataclass(frozen=True, kw_only=True)
class _Task:
    """What the tracks of a file are about."""

    video_id: str
    size: tuple[int, int] | None
    """Height and width of the pictures, as CVAT knew them."""
    where: str


def _track(
    track: ElementTree.Element, number: int, task: _Task, names: ImageNames, faults: Faults
) -> Iterator[Drawn]:
    numbers = names.frame_numbers(task.video_id)
    for shape in between(_shapes(track, task.where, faults), len(numbers)):
        where = f"{task.where}, frame {shape.frame}"
        in_name = numbers[shape.frame] if 0 <= shape.frame < len(numbers) else None
        row = None if in_name is None else names.row_of_frame(task.video_id, in_name)
        if row is None:
            faults.note("unknown-image", where)
            continue
        box, mask = _box_and_mask(shape, task.size or names.upright(row))
        yield Drawn(
            image_id=names.image_id(row), class_name=track.get("label") or "", box=box, mask=mask,
            track_id=number, size=task.size, where=where,
        )  # fmt: skip


def _shapes(track: ElementTree.Element, where: str, faults: Faults) -> list[_Shape]:
    shapes: list[_Shape] = []
    for element in track:
        if element.tag not in _SHAPES:
            faults.note("unknown-shape", f"{where}: {element.tag}")
            continue
        try:
            shapes.append(_shape(element))
        except (ValueError, KeyError) as error:
            faults.note("bad-shape", f"{where}: {error}")
    shapes.sort(key=lambda one: one.frame)
    return shapes


def _box_and_mask(
    shape: _Shape, size: tuple[int, int]
) -> tuple[tuple[float, float, float, float], Mask | None]:
    """The box around a shape, and its outline or pixels; a plain box has none."""
    points = shape.points_P2
    if shape.pixels is not None:
        (left, top), (height, width) = points[0].astype(int).tolist(), shape.pixels.shape
        whole = np.zeros(size, np.bool_)
        whole[top : top + height, left : left + width] = shape.pixels
        return (left, top, left + width, top + height), pixels_runs(whole)
    mask = Polygons(rings=(points,)) if shape.kind == "polygon" else None
    if shape.kind == "box" and shape.rotation_degrees % 360:
        points = _turned(points, shape.rotation_degrees)
        mask = Polygons(rings=(points,))
    (x1, y1), (x2, y2) = points.min(0).tolist(), points.max(0).tolist()
    return (x1, y1, x2, y2), mask


def _turned(corners_22: NDArray[np.float64], degrees: float) -> NDArray[np.float64]:
    """The four corners of a box turned clockwise (y points down) about its middle."""
    (x1, y1), (x2, y2) = corners_22.tolist()
    middle = corners_22.mean(0)
    angle = math.radians(degrees)
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    ring: NDArray[np.float64] = np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]]) - middle
    turned: NDArray[np.float64] = ring @ turn + middle
    return turned


def between(shapes: list[_Shape], num_frames: int) -> Iterator[_Shape]:
    """Every frame from each shape to the next, or to the end; none while it is outside."""
    for place, shape in enumerate(shapes):
        if shape.is_outside:
            continue
        following = shapes[place + 1] if place + 1 < len(shapes) else None
        end = following.frame if following is not None else max(num_frames, shape.frame + 1)
        yield shape
        for frame in range(shape.frame + 1, end):
            yield _moved(shape, following, frame)


def _moved(shape: _Shape, following: _Shape | None, frame: int) -> _Shape:
    """The shape on its way to the following one."""
    if (
        following is None
        or following.is_outside
        or following.kind != shape.kind
        or shape.pixels is not None
        or len(following.points_P2) != len(shape.points_P2)
    ):
        return replace(shape, frame=frame)
    share = (frame - shape.frame) / (following.frame - shape.frame)
    turn = (following.rotation_degrees - shape.rotation_degrees + 180) % 360 - 180
    return replace(
        shape,
        frame=frame,
        points_P2=shape.points_P2 + share * (following.points_P2 - shape.points_P2),
        rotation_degrees=shape.rotation_degrees + share * turn,
    )


def _shape(element: ElementTree.Element) -> _Shape:
    attributes = element.attrib
    pixels = None
    if element.tag == "box":
        corners = [float(attributes[name]) for name in ("xtl", "ytl", "xbr", "ybr")]
        points = np.array(corners).reshape(2, 2)
    elif element.tag == "polygon":
        pairs = [pair.split(",") for pair in attributes["points"].split(";")]
        points = np.array([[float(x), float(y)] for x, y in pairs])
        if len(points) < 3:
            raise ValueError("a polygon of fewer than three points")
    else:
        points = np.array([[float(attributes["left"]), float(attributes["top"])]])
        pixels = _pixels(attributes)
    return _Shape(
        frame=int(attributes["frame"]),
        kind=element.tag,
        is_outside=attributes.get("outside") == "1",
        points_P2=points,
        rotation_degrees=float(attributes.get("rotation", 0)),
        pixels=pixels,
    )


def _pixels(attributes: dict[str, str]) -> Bits:
    """Runs along the rows of the mask's rectangle, zeros first."""
    height, width = int(attributes["height"]), int(attributes["width"])
    counts = np.array([int(count) for count in attributes["rle"].split(",")], np.int64)
    if counts.min(initial=0) < 0 or counts.sum() != height * width:
        raise ValueError(f"its runs do not fill {height} x {width} pixels")
    pixels: Bits = np.repeat(np.arange(len(counts)) % 2 == 1, counts).reshape(height, width)
    return pixels

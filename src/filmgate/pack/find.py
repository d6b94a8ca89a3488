"""Which images are to be packed, whom each belongs to, and in which order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Literal

from filmgate.catalog import LeftOut
from filmgate.catalog.find import check_roots, files_below, refuse_other_encodings
from filmgate.catalog.read_file import stamp_of
from filmgate.catalog.rows import FileStamp
from filmgate.errors import UserError
from filmgate.pack.rows import FrameGap

Kind = Literal["images", "frames"]
IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".tif",
                            ".tiff"})  # fmt: skip
OTHER_IMAGES = frozenset({".avif", ".gif", ".heic", ".heif", ".jp2", ".jxl", ".exr", ".dng"})
"""Known as images by their names, and left out by name."""
ALL_SUFFIXES = IMAGE_SUFFIXES | OTHER_IMAGES
_SPLITS = {"train": "train", "training": "train", "val": "val", "valid": "val",
           "validation": "val", "test": "test", "testing": "test"}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FoundImage:
    """One file to pack."""

    image_id: str
    path: Path
    stamp: FileStamp
    video_id: str
    frame_number: int | None


@dataclass(frozen=True, kw_only=True)
class FoundImages:
    """Everything that was found."""

    images: list[FoundImage]
    """In the order of ``video_id``, frames by their numbers."""
    left_out: list[LeftOut]
    num_ignored: int


def find_images(
    root: Path, kind: Kind, *, skip: Path | None = None, apart: Sequence[Path] = ()
) -> FoundImages:
    """The images in and below a folder, the folder ``skip`` passed over.

    Hidden ones are ignored, and so is what lies in the folders ``apart``, which are resolved.

    With ``frames`` each folder that holds images is a video. Raises UserError for a folder that is
    missing or unreadable, a name that is not UTF-8, and when there is no image.
    """
    check_roots([root], hint="name the folder of the images")
    if not root.is_dir():
        raise UserError(f"{root} is a file", hint="name the folder of the images")
    images: list[FoundImage] = []
    left_out: list[LeftOut] = []
    num_ignored = 0
    for path in files_below(root, skip):
        suffix = path.suffix.lower()
        is_apart = any(path.resolve().is_relative_to(folder) for folder in apart)
        if suffix not in ALL_SUFFIXES or path.name.startswith(".") or is_apart:
            num_ignored += 1
            continue
        refuse_other_encodings(path)
        found = _found(root, path, kind)
        if isinstance(found, LeftOut):
            left_out.append(found)
        else:
            images.append(found)
    images.sort(key=lambda one: (one.video_id, one.frame_number or 0, one.image_id))
    if kind == "frames":
        images = _without_twins(images, left_out)
    if not images:
        raise UserError(
            f"no image in {root} ({len(left_out)} left out, {num_ignored} other files)",
            hint="images are known by names like .jpg .png .webp .bmp .tif; frames have numbers",
        )
    return FoundImages(images=images, left_out=left_out, num_ignored=num_ignored)


def split_of(image_id: str) -> str | None:
    """``train``, ``val`` or ``test``, where a folder on the path is called so, with or without a
    year; the last such folder counts."""
    for part in reversed(PurePosixPath(image_id).parts[:-1]):
        name = re.sub(r"[-_]?\d*$", "", part.lower())
        if name in _SPLITS:
            return _SPLITS[name]
    return None


def split_of_file(path: Path) -> str | None:
    """The one that a word of an annotation file's name says: ``instances_val2017.json``."""
    words = re.split(r"[^a-z]+", path.stem.lower())
    named = {_SPLITS[word] for word in words if word in _SPLITS}
    return named.pop() if len(named) == 1 else None


def frame_number_of(name: str) -> int | None:
    """The last number in a file's name, its ending apart: 12 of ``shot3_000012.png``."""
    numbers = re.findall(r"\d+", PurePosixPath(name).stem)
    return int(numbers[-1]) if numbers else None


def _found(root: Path, path: Path, kind: Kind) -> FoundImage | LeftOut:
    image_id = path.relative_to(root).as_posix()
    stamp = stamp_of(path)
    reason = None
    if path.suffix.lower() in OTHER_IMAGES:
        reason = f"{path.suffix.lower()} files are not taken; make them PNG or JPEG"
    elif stamp is None:
        reason = "it is not there: a link to nothing, or it went away"
    elif not path.is_file():
        reason = "it is no file"  # reading a pipe would wait for ever
    number = frame_number_of(path.name) if kind == "frames" else None
    if kind == "frames" and number is None:
        reason = reason or "its name has no frame number"
    if reason is not None or stamp is None:
        return LeftOut(video_id=image_id, path=str(path), reason=reason or "", stamp=None)
    folder = PurePosixPath(image_id).parent
    folder_id = str(folder) if folder.parts else root.resolve().name
    return FoundImage(
        image_id=image_id,
        path=path.absolute(),
        stamp=stamp,
        video_id=folder_id if kind == "frames" else image_id,
        frame_number=number,
    )


def _without_twins(images: Sequence[FoundImage], left_out: list[LeftOut]) -> list[FoundImage]:
    """The first of the frames of a folder that share a number; the others are left out."""
    kept: list[FoundImage] = []
    for image in images:
        last = kept[-1] if kept else None
        key = (image.video_id, image.frame_number)
        if last is not None and key == (last.video_id, last.frame_number):
            reason = f"it is frame {image.frame_number}, as {last.image_id} is"
            left_out.append(
                LeftOut(video_id=image.image_id, path=str(image.path), reason=reason, stamp=None)
            )
        else:
            kept.append(image)
    return kept


def gaps_between(frames: Sequence[tuple[str, int | None]]) -> list[FrameGap]:
    """Missing numbers in (video_id, frame number) pairs, in the order of packing."""
    gaps: list[FrameGap] = []
    for (one_id, one), (other_id, other) in pairwise(frames):
        if one_id == other_id and one is not None and other is not None and other > one + 1:
            gap = FrameGap(video_id=one_id, first_missing=one + 1, num_missing=other - one - 1)
            gaps.append(gap)
    return gaps

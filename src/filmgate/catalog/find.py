"""Which files are to be indexed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from filmgate.catalog.tiers import STAGE_FILE, STAGE_ROOM
from filmgate.errors import UserError
from filmgate.work.task import JOURNAL_FILE, ROOM

VIDEO_SUFFIXES = frozenset(
    {
        ".264", ".265", ".3g2", ".3gp", ".asf", ".avi", ".divx", ".dv", ".f4v", ".flv", ".gif",
        ".h264", ".h265", ".hevc", ".ivf", ".m1v", ".m2ts", ".m2v", ".m4v", ".mjpeg", ".mjpg",
        ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".mxf", ".nut", ".obu", ".ogv", ".qt",
        ".rm", ".rmvb", ".ts", ".vob", ".webm", ".wmv", ".y4m",
    }
)  # fmt: skip
"""Names that are taken for videos inside a folder; a file that is named itself is always taken."""

MADE_FOLDER = "a folder of copies that filmgate made; to index them, name it"
"""Why such a folder is left out."""


@dataclass(frozen=True, kw_only=True, order=True)
class Found:
    """One file to index."""

    video_id: str
    """Path below its root, with forward slashes."""
    path: Path
    folder_label: str | None
    """Name of the folder it lies in; None directly below the root."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Everything that was found."""

    videos: list[Found]
    """Sorted by ``video_id``, which is unique."""
    num_ignored: int
    """Files that are no videos by their names."""
    made_folders: list[Found]
    """Folders of copies that were passed over: as videos of their own they would weigh double, and
    be trained on where they are held out."""


def find_videos(roots: Sequence[Path], *, skip: Path | None = None) -> Findings:
    """The videos in and below the roots (files or folders); hidden files are ignored.

    The folder ``skip`` is passed over, and so are, listed, folders that ``prepare`` or ``stage``
    filled, unless they are roots. Raises UserError for a missing root, roots that share files,
    an unreadable folder, no video at all, a name that is not UTF-8, and two roots that give the
    same ``video_id``.
    """
    check_roots(roots)
    videos: list[Found] = []
    made_folders: list[Found] = []
    num_ignored = 0
    for root in roots:
        made: list[Path] = []
        if root.is_file():
            videos.append(Found(video_id=root.name, path=root.resolve(), folder_label=None))
            continue
        for path in files_below(root, skip, made):
            if path.suffix.lower() in VIDEO_SUFFIXES and not path.name.startswith("."):
                videos.append(_found(path, root, with_root_name=len(roots) > 1))
            else:
                num_ignored += 1
        made_folders += [_found(path, root, with_root_name=len(roots) > 1) for path in made]
    if not videos:
        names = " ".join(str(root) for root in roots)
        raise UserError(
            f"no video in {names} ({num_ignored} other files)",
            hint="videos are known by names like .mp4 .mov .mkv .webm .avi; name others one by one",
        )
    videos.sort()
    _refuse_twins(videos)
    return Findings(videos=videos, num_ignored=num_ignored, made_folders=made_folders)


def check_roots(roots: Sequence[Path], *, hint: str = "name a video or a folder of videos") -> None:
    """Raises UserError for a root that does not exist, and for files that two roots have in common.

    They would be in the catalog twice, weigh double, and be trained on where they are held out.
    ``hint`` says what can be named instead of one that does not exist.
    """
    for root in roots:
        if not root.exists():
            raise UserError(f"{root} does not exist", hint=hint)
    # Sorted by its parts, a folder comes right before what lies in it.
    places = sorted((root.resolve().parts, str(root)) for root in roots)
    for (parts, name), (next_parts, next_name) in pairwise(places):
        if parts == next_parts:
            found = f"{name} is named twice" if name == next_name else f"{name} is {next_name}"
            raise UserError(found, hint="name it once")
        if parts == next_parts[: len(parts)]:
            raise UserError(f"{next_name} lies in {name}", hint=f"name {name} alone")


def refuse_root(roots: Sequence[str], out: Path) -> None:
    """Raises UserError for copies that would lie among the videos that they are made of."""
    if str(out.resolve()) in {str(Path(root).resolve()) for root in roots}:
        raise UserError(
            f"{out} is the folder of the videos themselves",
            hint=f"give the copies a folder of their own, for example {out / 'copies'}",
        )


def _found(path: Path, root: Path, *, with_root_name: bool) -> Found:
    refuse_other_encodings(path)
    relative = path.relative_to(root)
    label = relative.parent.name or None
    prefix = f"{root.resolve().name}/" if with_root_name else ""
    return Found(video_id=prefix + relative.as_posix(), path=path.absolute(), folder_label=label)


def files_below(root: Path, skip: Path | None, made: list[Path] | None = None) -> Iterator[Path]:
    """Every file in and below a folder, in order; the folder ``skip`` is passed over.

    So are, where ``made`` is given, folders that Filmgate filled with copies; it lists them.

    Raises UserError for a folder that cannot be read.
    """

    def refuse(error: OSError) -> None:
        """For ``os.walk``, which else passes over such folders in silence."""
        raise UserError(
            f"{error.filename} cannot be read: {error.strerror}",
            hint="allow reading it, or name the folders that you may read",
        )

    seen: set[tuple[int, int]] = set()
    for folder, folders, files in os.walk(root, onerror=refuse, followlinks=True):
        status = Path(folder).stat()
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()  # a link that leads back up
            continue
        seen.add((status.st_dev, status.st_ino))
        if skip is not None and skip.exists() and skip.samefile(folder):
            folders.clear()
            continue
        if made is not None and Path(folder) != root and _holds_copies(Path(folder)):
            made.append(Path(folder))
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder) / name for name in sorted(files))


def _holds_copies(folder: Path) -> bool:
    """From the first file on that ``prepare`` or ``stage`` puts there, finished or cut off."""
    signs = (f"{ROOM}/{JOURNAL_FILE}", STAGE_FILE, STAGE_ROOM)
    return any((folder / sign).exists() for sign in signs)


def refuse_other_encodings(path: Path) -> None:
    """Raises UserError for a name that cannot stand in a table."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        name = os.fsencode(path)
        raise UserError(f"{name!r} is no UTF-8 name", hint="rename the file") from None


def _refuse_twins(videos: list[Found]) -> None:
    for one, other in pairwise(videos):
        if one.video_id == other.video_id:
            raise UserError(
                f"{one.path} and {other.path} would both be called {one.video_id}",
                hint="index their common parent folder",
            )

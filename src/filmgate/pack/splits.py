"""The split of each image: the name of a folder on its path, or of the COCO file that lists it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from filmgate.errors import UserError
from filmgate.pack.coco import coco_rows
from filmgate.pack.find import split_of, split_of_file
from filmgate.pack.names import ImageNames


def splits_of(table: pa.Table, coco_files: Sequence[Path]) -> list[str | None]:
    """The split of each row. Folders count before files; frames of a video go together.

    Raises UserError when two files put an image, or its video, into different splits.
    """
    splits = [split_of(image_id) for image_id in table.column("image_id").to_pylist()]
    videos: list[str] = table.column("video_id").to_pylist()
    told = {file: split for file in coco_files if (split := split_of_file(file)) is not None}
    by_video: dict[str, tuple[str, Path]] = {}
    names = ImageNames(table) if told else None
    for file, split in told.items():
        assert names is not None
        for video_id in {videos[row] for row in coco_rows(file, names)}:
            other, before = by_video.setdefault(video_id, (split, file))
            if other != split:
                raise UserError(
                    f"{video_id} is {other} in {before.name} and {split} in {file.name}",
                    hint="list it in one of them, or name the files so that they say no split",
                )
    return [
        split if split is not None or video_id not in by_video else by_video[video_id][0]
        for split, video_id in zip(splits, videos, strict=True)
    ]

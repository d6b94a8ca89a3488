"""Finding the image that an annotation means, among those of a pack."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

import pyarrow as pa

Size = tuple[int, int]


class ImageNames:
    """The images of a pack by the names that annotation files give them."""

    def __init__(
        self, table: pa.Table, frame_numbers: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        """``frame_numbers``: those of each folder as it was found, broken frames among them."""
        self._frame_numbers = frame_numbers or {}
        self._ids: list[str] = table.column("image_id").to_pylist()
        columns = [table.column(name).to_pylist() for name in
                   ("height", "width", "rotation_degrees", "mirrored")]  # fmt: skip
        self._shapes = list(zip(*columns, strict=True))
        self._row_of = {image_id: row for row, image_id in enumerate(self._ids)}
        self._rows_of_name: dict[str, list[int]] = defaultdict(list)
        self._rows_of_stem: dict[str, list[int]] = defaultdict(list)
        for row, image_id in enumerate(self._ids):
            path = PurePosixPath(image_id)
            self._rows_of_name[path.name].append(row)
            self._rows_of_stem[path.stem].append(row)
        self._frames = {
            (video_id, number): row
            for row, (video_id, number) in enumerate(
                zip(
                    table.column("video_id").to_pylist(),
                    table.column("frame_number").to_pylist(),
                    strict=True,
                )
            )
        }
        self.video_ids: list[str] = list(dict.fromkeys(table.column("video_id").to_pylist()))
        """Every video, in row order."""

    def __len__(self) -> int:
        return len(self._ids)

    def image_id(self, row: int) -> str:
        """Of a row."""
        return self._ids[row]

    def stored(self, row: int) -> Size:
        """Height and width as stored."""
        height, width, _, _ = self._shapes[row]
        return height, width

    def turn(self, row: int) -> tuple[int, bool]:
        """Clockwise degrees, after a flip left to right."""
        _, _, rotation, mirrored = self._shapes[row]
        return rotation, mirrored

    def upright(self, row: int) -> Size:
        """Height and width of the upright picture."""
        height, width, rotation, _ = self._shapes[row]
        return (width, height) if rotation in (90, 270) else (height, width)

    def rows_of(self, name: str) -> list[int]:
        """The image of that path, or all whose path ends so; more than one is ambiguous."""
        name = name.replace("\\", "/").removeprefix("./")
        if name in self._row_of:
            return [self._row_of[name]]
        path = PurePosixPath(name)
        return self._ending(self._rows_of_name[path.name], path.parts, with_suffix=True)

    def rows_of_stem(self, name: str) -> list[int]:
        """As ``rows_of``, for a path of another ending, such as a label file or a mask."""
        path = PurePosixPath(name)
        return self._ending(self._rows_of_stem[path.stem], path.parts, with_suffix=False)

    def row_of_frame(self, video_id: str, number: int) -> int | None:
        """The frame of a folder by the number in its name."""
        return self._frames.get((video_id, number))

    def frame_numbers(self, video_id: str) -> Sequence[int]:
        """The numbers of a folder's frames in order, those left out among them."""
        return self._frame_numbers.get(video_id, [])

    def _ending(self, rows: list[int], parts: tuple[str, ...], *, with_suffix: bool) -> list[int]:
        """Those that share the most of the path, counted from its end."""
        if len(rows) < 2:
            return list(rows)
        shared = [_num_shared(PurePosixPath(self._ids[row]).parts, parts, with_suffix=with_suffix)
                  for row in rows]  # fmt: skip
        return [row for row, count in zip(rows, shared, strict=True) if count == max(shared)]


def _num_shared(one: tuple[str, ...], other: tuple[str, ...], *, with_suffix: bool) -> int:
    count = 1 if one[-1] == other[-1] or not with_suffix else 0
    for left, right in zip(one[-2::-1], other[-2::-1], strict=False):
        if left != right:
            break
        count += 1
    return count

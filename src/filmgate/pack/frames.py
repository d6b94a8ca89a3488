"""The images of one catalog row as the frames of a video."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import av

from filmgate.catalog import Catalog, VideoRow
from filmgate.closing import Closing
from filmgate.errors import UndecodableFrame, UnreadableVideo, UserError
from filmgate.pack.catalog_rows import video_of_image
from filmgate.pack.reader import PACK_FILE, Pack, open_pack
from filmgate.video import FrameTable


class PackedFrames(Closing):
    """Frames of a pack, in the way that ``VideoReader`` has those of a file."""

    def __init__(self, pack: Pack, first: int, table: FrameTable) -> None:
        self.pack = pack
        self.first = first
        """Row of the pack that is frame 0."""
        self.table = table
        self.num_decoded = 0

    def frames(self, indices: Sequence[int]) -> Iterator[tuple[int, av.VideoFrame]]:
        """Each distinct wanted frame once, ascending, with its time in the table's time base.

        Raises IndexError at once for an index outside 0..N-1, and UndecodableFrame for a frame
        that does not come out.
        """
        wanted = sorted({int(index) for index in indices})
        if wanted and not 0 <= wanted[0] <= wanted[-1] < self.table.num_frames:
            outside = wanted[0] if wanted[0] < 0 else wanted[-1]
            raise IndexError(f"{self.pack.path}: frame {outside} of {self.table.num_frames}")
        return ((index, self._frame(index)) for index in wanted)

    def close(self) -> None:
        """Nothing is open but the pack, which others share."""

    def _frame(self, index: int) -> av.VideoFrame:
        try:
            frame = self.pack.decode(self.first + index)
        except UnreadableVideo as error:
            raise UndecodableFrame(error.path, error.reason, hint=error.hint) from None
        self.num_decoded += 1
        frame.pts = int(self.table.pts[index])
        frame.time_base = self.table.time_base
        return frame


def pack_beside(catalog: Catalog) -> Pack | None:
    """The pack of whose images a catalog tells; None for a catalog of videos.

    Raises UserError when the two do not belong together.
    """
    if not (catalog.path / PACK_FILE).exists():
        return None
    pack = open_pack(catalog.path)
    if pack.header.catalog_digest != catalog.digest:
        raise UserError(
            f"{catalog.path} holds a pack and the catalog of another state",
            hint="pack the folder again; packing was interrupted",
        )
    return pack


def open_packed(catalog: Catalog, pack: Pack, row: int) -> tuple[VideoRow, PackedFrames]:
    """The facts and frames of a row of the catalog. Raises IndexError for one that is not there."""
    first = pack.first_of_video(row)
    if pack.header.kind == "images":
        facts, table = video_of_image(
            pack.row(first), Path(pack.header.root), Fraction(*pack.header.fps)
        )
    else:
        facts, table = catalog.video(row), catalog.frame_table(row)
    return facts, PackedFrames(pack, first, table)

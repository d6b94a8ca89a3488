"""Reads frames of catalog videos as arrays, one call at a time, in this process.

T frames, C = 3 as R G B, H, W.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from filmgate.catalog import Catalog
from filmgate.errors import UndecodableFrame, UserError
from filmgate.feed.colour import UnsupportedColour
from filmgate.feed.geometry import Size, with_short_side
from filmgate.feed.open_videos import OpenVideo, OpenVideos
from filmgate.feed.picture import Painter, Window
from filmgate.video.planes import packed_samples


class ClipReader:
    """Exact frames of any video of a catalog, upright, at one size.

    ``rgb24``: with ``size`` the picture is scaled to cover H x W, its aspect kept, and cut around
    its middle. With ``short_side`` its shorter side gets that length. With neither it keeps its own
    size. A frame whose size differs from the rest of its video is fitted to the same window.
    ``native``: the decoder's own samples, as raw video files hold them, at their own size.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        size: Size | None = None,
        short_side: int | None = None,
        pixel_format: Literal["rgb24", "native"] = "rgb24",
    ) -> None:
        if pixel_format == "native" and (size is not None or short_side is not None):
            raise UserError(
                "native frames cannot be scaled",
                hint='leave size and short_side out, or read pixel_format="rgb24"',
            )
        self.size = size
        self.short_side = short_side
        self.pixel_format = pixel_format
        self._videos = OpenVideos(catalog)
        self._painter = Painter()

    def __enter__(self) -> ClipReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the decoders; reading opens them again."""
        self._videos.close()

    def read(self, video: int, frame_indices: Sequence[int]) -> NDArray[np.uint8]:
        """uint8 (T, H, W, 3) of a row's frames, in the order asked for, repeats allowed.

        With ``native`` uint8 (T, bytes of a frame).

        Raises IndexError for a row or a frame that is not there, UndecodableFrame or
        UnreadableVideo for what does not come out.
        """
        opened = self._videos.get(video)
        wanted_T = np.asarray(frame_indices, np.int64)
        if self.pixel_format == "native":
            return _read_native(opened, wanted_T)
        return self._read_rgb(opened, wanted_T)

    def _read_rgb(self, opened: OpenVideo, wanted_T: NDArray[np.int64]) -> NDArray[np.uint8]:
        window = Window(size=self._size_of(opened))
        out_TCHW = np.empty((len(wanted_T), 3, *window.size), np.uint8)
        for index, frame in opened.reader.frames(wanted_T.tolist()):
            first, *others = np.flatnonzero(wanted_T == index).tolist()
            try:
                self._painter.paint(frame, opened.orientation, window, out_TCHW[first])
            except UnsupportedColour as error:
                raise UndecodableFrame(opened.facts.path, str(error)) from None
            for other in others:
                out_TCHW[other] = out_TCHW[first]
        return np.ascontiguousarray(out_TCHW.transpose(0, 2, 3, 1))

    def _size_of(self, video: OpenVideo) -> Size:
        if self.size is not None:
            return self.size
        upright = video.orientation.upright((video.facts.height, video.facts.width))
        return upright if self.short_side is None else with_short_side(upright, self.short_side)


def _read_native(opened: OpenVideo, wanted_T: NDArray[np.int64]) -> NDArray[np.uint8]:
    samples = {
        index: b"".join(packed_samples(frame))
        for index, frame in opened.reader.frames(wanted_T.tolist())
    }
    if len({len(content) for content in samples.values()}) > 1:
        raise UndecodableFrame(
            opened.facts.path,
            "its frames change size, so they make no array of native samples",
            hint="read them one at a time, or as rgb24",
        )
    rows = [np.frombuffer(samples[index], np.uint8) for index in wanted_T.tolist()]
    return np.stack(rows) if rows else np.empty((0, 0), np.uint8)

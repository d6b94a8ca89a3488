"""Reads frames of catalog videos as arrays, one call at a time, in this process.

T frames, C = 3 as R G B, H, W.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import av
import numpy as np
from numpy.typing import NDArray

from filmgate.catalog import Catalog
from filmgate.closing import Closing
from filmgate.errors import UndecodableFrame, UserError
from filmgate.feed.colour import Colour, UnsupportedColour
from filmgate.feed.geometry import Size, asked_size
from filmgate.feed.open_videos import OpenVideo, OpenVideos
from filmgate.feed.picture import Painter, Window
from filmgate.feed.scaler import Scaler
from filmgate.feed.yuv import paint_yuv, yuv_colour
from filmgate.video.planes import packed_samples

ClipFormat = Literal["rgb24", "yuv420p", "native"]


class ClipReader(Closing):
    """Exact frames of any video of a catalog, upright, at one size.

    With ``size`` the picture is scaled to cover H x W, its aspect kept, and cut around its middle.
    With ``short_side`` its shorter side gets that length. With neither it keeps its own size. A
    frame whose size differs from the rest of its video is fitted to the same window.

    ``rgb24``: uint8 (T, H, W, 3). In memory each colour is one plane, so what a model wants,
    ``clip.transpose(0, 3, 1, 2)``, is contiguous; ``numpy.ascontiguousarray`` gives the other.
    ``yuv420p``: uint8 (T, H * 3 / 2, W), the planes of ``filmgate.feed.yuv``, to be turned into RGB
    by ``colour(video)``. H and W have to be even.
    ``native``: uint8 (T, bytes of a frame), the decoder's own samples, as raw video files hold
    them, at their own size.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        size: Size | None = None,
        short_side: int | None = None,
        pixel_format: ClipFormat = "rgb24",
    ) -> None:
        if pixel_format not in get_args(ClipFormat):
            raise UserError(
                f"no pixel format {pixel_format!r}",
                hint=f"one of {', '.join(get_args(ClipFormat))}",
            )
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
        self._scaler = Scaler()

    def close(self) -> None:
        """Close the decoders; reading opens them again."""
        self._videos.close()

    def read(self, video: int, frame_indices: Sequence[int]) -> NDArray[np.uint8]:
        """A row's frames, in the order asked for, repeats allowed.

        Raises IndexError for a row or a frame that is not there, UndecodableFrame or
        UnreadableVideo for what does not come out, UserError for a size that the format lacks.
        """
        return self._read_clips(video, [frame_indices])[0]

    def read_many(self, requests: Sequence[tuple[int, Sequence[int]]]) -> list[NDArray[np.uint8]]:
        """What ``read`` gives for each (video, frame indices), videos decoded one by one.

        A frame that several requests want is decoded once, and so is the way to it. Raises what
        ``read`` raises.
        """
        numbers_of: dict[int, list[int]] = {}
        for number, (video, _) in enumerate(requests):
            numbers_of.setdefault(video, []).append(number)
        clips: dict[int, NDArray[np.uint8]] = {}
        for video, numbers in numbers_of.items():
            read = self._read_clips(video, [requests[number][1] for number in numbers])
            clips.update(zip(numbers, read, strict=True))
        return [clips[number] for number in range(len(requests))]

    def colour(self, video: int) -> Colour:
        """How ``yuv420p`` samples of a row become RGB, by its first frame."""
        opened = self._videos.get(video)
        _, frame = next(opened.reader.frames([0]))
        try:
            return yuv_colour(frame)
        except UnsupportedColour as error:
            raise UndecodableFrame(opened.facts.path, str(error)) from None

    def _read_clips(self, video: int, wanted: Sequence[Sequence[int]]) -> list[NDArray[np.uint8]]:
        opened = self._videos.get(video)
        if self.pixel_format == "native":
            return _read_native(opened, wanted)
        window = Window(size=self._size_of(opened))
        clips = [self._blank(len(indices), window.size) for indices in wanted]
        places: dict[int, list[NDArray[np.uint8]]] = {}
        for indices, clip in zip(wanted, clips, strict=True):
            for index, place in zip(indices, clip, strict=True):
                places.setdefault(int(index), []).append(place)
        for index, frame in opened.reader.frames(list(places)):
            first, *others = places[index]
            self._paint(frame, opened, window, first)
            for other in others:
                other[:] = first
        return [self._as_asked(clip) for clip in clips]

    def _blank(self, num_frames: int, size: Size) -> NDArray[np.uint8]:
        height, width = size
        if self.pixel_format == "rgb24":
            return np.empty((num_frames, 3, height, width), np.uint8)
        if height % 2 or width % 2:
            raise UserError(
                f"a picture of {height} x {width} has no yuv420p",
                hint="give a size of even numbers, or read rgb24",
            )
        return np.empty((num_frames, height * 3 // 2, width), np.uint8)

    def _paint(
        self, frame: av.VideoFrame, opened: OpenVideo, window: Window, out: NDArray[np.uint8]
    ) -> None:
        try:
            if self.pixel_format == "rgb24":
                self._painter.paint(frame, opened.orientation, window, out)
            else:
                paint_yuv(frame, opened.orientation, window, self._scaler, out)
        except UnsupportedColour as error:
            raise UndecodableFrame(opened.facts.path, str(error)) from None

    def _as_asked(self, clip: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return clip.transpose(0, 2, 3, 1) if self.pixel_format == "rgb24" else clip

    def _size_of(self, video: OpenVideo) -> Size:
        upright = video.orientation.upright((video.facts.height, video.facts.width))
        return asked_size(upright, self.size, self.short_side)


def _read_native(opened: OpenVideo, wanted: Sequence[Sequence[int]]) -> list[NDArray[np.uint8]]:
    distinct = sorted({int(index) for indices in wanted for index in indices})
    samples = {
        index: np.frombuffer(b"".join(packed_samples(frame)), np.uint8)
        for index, frame in opened.reader.frames(distinct)
    }
    if len({len(content) for content in samples.values()}) > 1:
        raise UndecodableFrame(
            opened.facts.path,
            "its frames change size, so they make no array of native samples",
            hint="read them one at a time, or as rgb24",
        )
    return [
        np.stack([samples[int(index)] for index in indices])
        if len(indices)
        else np.empty((0, 0), np.uint8)
        for indices in wanted
    ]

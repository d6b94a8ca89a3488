"""Writing one copy: the source's frames in order, through an encoder, at their exact times.

The encoder counts frames, whatever their times: packets get their times here, as whole ticks, so
that neither a codec's coarse clock nor its rate control can move them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
import numpy as np

from filmgate.closing import Closing
from filmgate.prepare.encoders import Encoder, open_encoder
from filmgate.prepare.pictures import (
    PictureMaker,
    Tags,
    UnusablePicture,
    can_say_colour,
)
from filmgate.prepare.recipe import Recipe
from filmgate.prepare.times import CopyTimes
from filmgate.video import FrameTable, VideoFacts, VideoReader

NOMINAL_RATE = 30
"""Frames per second that rate control and levels are told; the constant quality of all recipes
does not depend on it."""
KEPT_PICTURES = 12
"""Pictures that are kept, spread over the video, to be held against the finished copy."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """What went into a copy, for the check of what came out."""

    tags: Tags
    size: tuple[int, int]
    """Height and width."""
    pictures: dict[int, av.VideoFrame]
    """Some of the pictures as the encoder got them, by frame of the copy."""


def write_copy(
    source: Path,
    facts: VideoFacts,
    table: FrameTable,
    times: CopyTimes,
    recipe: Recipe,
    encoder: Encoder,
    out: Path,
    *,
    on_frame: Callable[[int], None] | None = None,
) -> Written:
    """Encode the video into ``out``, which must not be trusted before it was checked.

    ``on_frame`` is told the number of frames done. Raises UnusablePicture, VideoError for a
    source that does not come out, OSError, av.FFmpegError.
    """
    maker = PictureMaker(facts, recipe, encoder)
    kept_numbers = kept_frames(len(times.ticks_N))
    kept: dict[int, av.VideoFrame] = {}
    num_written = 0
    with VideoReader(source, table) as reader, _Writer(out, encoder, recipe, times) as writer:
        pictures = maker.pictures(_frames_of_copy(reader, times))
        for number, picture in enumerate(pictures):
            if number in kept_numbers:
                kept[number] = picture
            assert maker.tags is not None
            writer.write(picture, maker.tags)
            num_written = number + 1
            if on_frame is not None:
                on_frame(num_written)
        writer.finish()
    if num_written != len(times.ticks_N):
        raise UnusablePicture(f"{num_written} pictures were made of {len(times.ticks_N)} frames")
    assert maker.tags is not None
    return Written(tags=maker.tags, size=maker.size, pictures=kept)


def kept_frames(num_frames: int) -> set[int]:
    """Frames of the copy whose pictures are kept: the first, the last, and some between."""
    return set(np.linspace(0, num_frames - 1, min(num_frames, KEPT_PICTURES)).astype(int).tolist())


def _frames_of_copy(reader: VideoReader, times: CopyTimes) -> Iterator[av.VideoFrame]:
    """The source's frames in order, those that the copy shows twice given twice."""
    wanted, counts = np.unique(times.source_frames_N, return_counts=True)
    for (_, frame), count in zip(reader.frames(wanted.tolist()), counts.tolist(), strict=True):
        for _ in range(count):
            yield frame


class _Writer(Closing):
    """One file in the making."""

    def __init__(self, out: Path, encoder: Encoder, recipe: Recipe, times: CopyTimes) -> None:
        self._encoder = encoder
        self._recipe = recipe
        self._times = times
        self._container = av.open(str(out), "w", format=encoder.container)
        self._stream: av.VideoStream | None = None
        # Frames between references are decoded after the reference that follows them.
        self._delay = 1 if recipe.layout.reference_every > 1 else 0
        self._num_pictures = self._num_packets = 0

    def write(self, picture: av.VideoFrame, tags: Tags) -> None:
        """Encode one picture; the first one decides size and format."""
        if self._stream is None:
            self._stream = self._open_stream(picture, tags)
        picture.pts, picture.time_base = self._num_pictures, Fraction(1, NOMINAL_RATE)
        picture.pict_type = 0  # the source's own kinds of picture are not to be copied
        self._num_pictures += 1
        self._mux(self._stream.encode(picture))

    def finish(self) -> None:
        """Encode what is held back."""
        if self._stream is not None:
            self._mux(self._stream.encode(None))

    def close(self) -> None:
        """Write the end of the file."""
        self._container.close()

    def _open_stream(self, picture: av.VideoFrame, tags: Tags) -> av.VideoStream:
        options = self._encoder.options(self._recipe.layout)
        stream = cast(
            av.VideoStream,
            self._container.add_stream(self._encoder.name, rate=NOMINAL_RATE, options=options),
        )
        context = stream.codec_context
        stream.width, stream.height = picture.width, picture.height
        stream.pix_fmt = picture.format.name
        context.time_base = Fraction(1, NOMINAL_RATE)
        context.thread_count = 1
        stream.time_base = self._times.time_base
        if can_say_colour(self._encoder, tags.primaries, tags.transfer):
            context.colorspace, context.color_range = tags.matrix, int(tags.range)
            context.color_primaries, context.color_trc = tags.primaries, tags.transfer
        open_encoder(stream)
        return stream

    def _mux(self, packets: list[av.Packet[av.VideoStream]]) -> None:
        for packet in packets:
            number = packet.pts
            decoded_at = self._num_packets - self._delay
            assert number is not None and decoded_at <= number
            self._num_packets += 1
            packet.pts = self._tick(number)
            packet.dts = self._tick(decoded_at)
            packet.duration = int(self._times.durations[number])
            packet.time_base = self._times.time_base
            self._container.mux(packet)

    def _tick(self, number: int) -> int:
        """The time of a frame; decoding times before the first frame go on backwards."""
        if number >= 0:
            return int(self._times.ticks_N[number])
        return number * int(self._times.durations[0])

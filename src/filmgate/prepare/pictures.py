"""From the source's frames to the pictures that are encoded: upright, square pixels, scaled.

Sizes are (height, width).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import av
from av.filter import Graph
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter

from filmgate.feed.colour import Colour, UnsupportedColour, colour_of, is_gray
from filmgate.feed.geometry import Orientation, Size, cover, orientation_of, with_short_side
from filmgate.prepare.encoders import Encoder
from filmgate.prepare.recipe import Recipe
from filmgate.video import VideoFacts

HDR_TRANSFERS = ("smpte2084", "arib-std-b67")
"""PQ and HLG, in FFmpeg's names."""
_SHAPE_TOLERANCE = 0.01
"""Relative difference of aspect up to which a picture counts as the same shape."""
_BICUBIC = Interpolation.BICUBIC | Interpolation.ACCURATE_RND | Interpolation.BITEXACT
# Numbers of ITU-T H.273, which are FFmpeg's AVColorSpace.
COLOUR_OF_TAG = {
    1: Colorspace.ITU709,
    4: Colorspace.FCC,
    6: Colorspace.ITU601,
    7: Colorspace.SMPTE240M,
    9: Colorspace.BT2020,
}
"""Matrix that each tag stands for."""
_TAG_OF_MATRIX = {matrix: tag for tag, matrix in COLOUR_OF_TAG.items()}
UNSPECIFIED = 2
"""What H.273 says where nothing is known."""


class UnusablePicture(Exception):
    """The source's pictures cannot be copied by the recipe; says why."""


@dataclass(frozen=True, kw_only=True)
class Tags:
    """What a copy says about its colours: numbers of ITU-T H.273, and the range."""

    matrix: int
    primaries: int
    transfer: int
    range: ColorRange


def why_left_out(facts: VideoFacts, recipe: Recipe, encoder: Encoder) -> str | None:
    """Why the recipe's policies leave a video out; None for one that is copied."""
    if min(copy_size(facts, recipe)) < encoder.smallest_side:
        return f"{encoder.name} takes no side of less than {encoder.smallest_side} pixels"
    is_interlaced = facts.interlacing in ("top-first", "bottom-first")
    if is_interlaced and recipe.interlaced == "leave-out":
        return "it is interlaced"
    if is_interlaced and recipe.interlaced == "weave":
        height, width = copy_size(facts, recipe)
        if height != facts.height:
            return f"its fields cannot stay woven at {width}x{height}: the height changes"
    if facts.color_transfer in HDR_TRANSFERS:
        if recipe.hdr == "leave-out":
            return f"it is HDR ({facts.color_transfer})"
        if encoder.hdr_pixel_format is None:
            return f"it is HDR ({facts.color_transfer}), which {encoder.name} cannot hold"
    return None


def copy_size(facts: VideoFacts, recipe: Recipe) -> Size:
    """The size of the copy: never larger than the upright source, both sides even."""
    upright = orientation_of(facts).upright((facts.height, facts.width))
    return _scaled_size(upright, recipe)


def _scaled_size(upright: Size, recipe: Recipe) -> Size:
    wanted = upright
    if recipe.size is not None:
        wanted = cover(upright, recipe.size)
    elif recipe.short_side is not None:
        wanted = with_short_side(upright, recipe.short_side)
    height, width = (
        _even(min(side, limit), limit) for side, limit in zip(wanted, upright, strict=True)
    )
    return height, width


def _even(side: int, limit: int) -> int:
    """One more where a side is odd, or one less where there is no more."""
    return max(2, side + side % 2 if side < limit else side - side % 2)


def pixel_format_of(facts: VideoFacts, encoder: Encoder) -> str:
    """10 bits for HDR, 8 for all else."""
    if facts.color_transfer in HDR_TRANSFERS and encoder.hdr_pixel_format is not None:
        return encoder.hdr_pixel_format
    return encoder.pixel_format


class PictureMaker:
    """Makes the pictures of one video."""

    def __init__(self, facts: VideoFacts, recipe: Recipe, encoder: Encoder) -> None:
        self.size = copy_size(facts, recipe)
        self.pixel_format = pixel_format_of(facts, encoder)
        self.tags: Tags | None = None
        """Of the pictures; None before the first."""
        self._encoder = encoder
        self._facts = facts
        self._filters = _filters(facts, recipe)
        self._reformatter = VideoReformatter()

    def pictures(self, frames: Iterable[av.VideoFrame]) -> Iterator[av.VideoFrame]:
        """One picture for each frame, in order. Raises UnusablePicture."""
        upright_frames = _filtered(frames, self._filters) if self._filters else frames
        for frame in upright_frames:
            try:
                colour = colour_of(frame)
            except UnsupportedColour as error:
                raise UnusablePicture(str(error)) from None
            self._refuse_another_shape(frame)
            yield self._picture(frame, colour)

    def _refuse_another_shape(self, frame: av.VideoFrame) -> None:
        sample_aspect = self._facts.sample_aspect
        upright = Orientation(rotation_degrees=0, mirrored=False, sample_aspect=sample_aspect)
        if orientation_of(self._facts).is_sideways and sample_aspect is not None:
            inverse = sample_aspect[1], sample_aspect[0]
            upright = Orientation(rotation_degrees=0, mirrored=False, sample_aspect=inverse)
        height, width = upright.upright((frame.height, frame.width))
        ratio = (width / height) / (self.size[1] / self.size[0])
        slack = _SHAPE_TOLERANCE + 2 / min(self.size)  # sides are rounded to even numbers
        if abs(ratio - 1) > slack:
            raise UnusablePicture(f"its pictures change shape on the way ({width}x{height})")

    def _picture(self, frame: av.VideoFrame, colour: Colour) -> av.VideoFrame:
        target = _target_colour(frame, colour, self._encoder)
        height, width = self.size
        picture = self._reformatter.reformat(
            frame,
            width,
            height,
            self.pixel_format,
            src_colorspace=int(colour.matrix),
            dst_colorspace=int(target.matrix),
            interpolation=int(_BICUBIC),
            src_color_range=int(colour.range),
            dst_color_range=int(target.range),
            threads=1,
        )
        if is_gray(frame):
            for plane in picture.planes[1:]:
                plane.update(bytes([128]) * plane.buffer_size)
        tags = Tags(
            matrix=_TAG_OF_MATRIX[target.matrix],
            primaries=frame.color_primaries or UNSPECIFIED,
            transfer=frame.color_trc or UNSPECIFIED,
            range=target.range,
        )
        if self.tags is not None and self.tags != tags:
            raise UnusablePicture("its pictures change their colour tags on the way")
        self.tags = tags
        return picture


def _target_colour(frame: av.VideoFrame, colour: Colour, encoder: Encoder) -> Colour:
    """The source's own, but where the copy can say nothing else."""
    if encoder.is_full_range:
        return Colour(Colorspace.ITU601, is_full=True)
    is_rgb = frame.format.is_rgb or frame.format.has_palette
    if is_rgb or not can_say_colour(encoder, frame.color_primaries, frame.color_trc):
        return Colour(Colorspace.ITU601, is_full=False)
    return colour


def can_say_colour(encoder: Encoder, primaries: int, transfer: int) -> bool:
    """Whether a copy with these primaries and this transfer can carry matrix and range."""
    if encoder.keeps_tags == "together":
        return not {primaries, transfer} & {0, UNSPECIFIED}
    return encoder.keeps_tags == "each"


def _filters(facts: VideoFacts, recipe: Recipe) -> list[tuple[str, str | None]]:
    """FFmpeg filters that make one upright frame of each stored one."""
    filters: list[tuple[str, str | None]] = []
    if facts.interlacing in ("top-first", "bottom-first") and recipe.interlaced == "deinterlace":
        parity = "tff" if facts.interlacing == "top-first" else "bff"
        filters.append(("bwdif", f"mode=send_frame:parity={parity}:deint=all"))
    if facts.mirrored:
        filters.append(("hflip", None))
    turns: dict[int, list[tuple[str, str | None]]] = {
        0: [],
        90: [("transpose", "clock")],
        180: [("hflip", None), ("vflip", None)],
        270: [("transpose", "cclock")],
    }
    return filters + turns[facts.rotation_degrees]


def _filtered(
    frames: Iterable[av.VideoFrame], filters: list[tuple[str, str | None]]
) -> Iterator[av.VideoFrame]:
    graph: Graph | None = None
    shape: tuple[str, int, int] | None = None
    for number, frame in enumerate(frames):
        if graph is None:
            shape = frame.format.name, frame.width, frame.height
            graph = _graph(frame, filters)
        elif shape != (frame.format.name, frame.width, frame.height):
            raise UnusablePicture(
                "its frames change size or format on the way and have to be turned"
            )
        frame.pts = number
        graph.vpush(frame)
        yield from _pulled(graph)
    if graph is not None:
        graph.vpush(None)
        yield from _pulled(graph)


def _graph(frame: av.VideoFrame, filters: list[tuple[str, str | None]]) -> Graph:
    graph = Graph()
    nodes = [
        graph.add_buffer(
            width=frame.width, height=frame.height, format=frame.format, time_base=frame.time_base
        ),
        *[graph.add(name, options) for name, options in filters],
        graph.add("buffersink"),
    ]
    graph.link_nodes(*nodes).configure()
    return graph


def _pulled(graph: Graph) -> Iterator[av.VideoFrame]:
    while True:
        try:
            yield graph.vpull()
        except (av.BlockingIOError, av.EOFError):
            return

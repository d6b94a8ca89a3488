"""A part of a frame as a frame of its own, by libavfilter: no pixel is copied.

What the frame is tagged with goes along, the place of its chroma samples among it. That one has no
name in PyAV, and scaling without it is up to 54 levels off at the edges of colours.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from fractions import Fraction

import av
import av.filter
from av.filter.context import FilterContext

from filmgate.catalog.rectangle import Rectangle
from filmgate.feed.colour import UnsupportedColour

MAX_CROPS = 16
"""Filters kept, one for each rectangle of each kind of frame that was asked for lately."""
_ANY = 64
"""A width and height that every chroma grid divides."""


@dataclass(frozen=True, kw_only=True)
class _Filter:
    graph: av.filter.Graph
    """Its ends do not keep it alive; using one of them without it crashes the process."""
    entry: FilterContext
    end: FilterContext


@dataclass(frozen=True, kw_only=True)
class Stored:
    """What a cut needs to know of a frame that is not decoded."""

    height: int
    width: int
    format: av.VideoFormat


class Cropper:
    """Cuts frames; keeps what libavfilter needs between frames."""

    def __init__(self) -> None:
        self._filters: OrderedDict[tuple[object, ...], _Filter] = OrderedDict()

    def cut(self, frame: av.VideoFrame, rectangle: Rectangle) -> av.VideoFrame:
        """The rectangle, which keeps to ``grid_of(frame)``; the frame itself if it is all of it.

        It shares the memory of the frame. Raises UnsupportedColour for pictures of single bits.
        """
        if rectangle == (0, 0, frame.height, frame.width):
            return frame
        if frame.format.is_bit_stream:
            raise UnsupportedColour(f"pixel format {frame.format.name} cannot be cropped")
        crop = self._filter(frame, rectangle)
        crop.entry.push(frame)
        cut = crop.end.pull()
        assert isinstance(cut, av.VideoFrame)
        return cut

    def _filter(self, frame: av.VideoFrame, rectangle: Rectangle) -> _Filter:
        key = (frame.format.name, frame.height, frame.width, rectangle)
        crop = self._filters.pop(key, None) or _make_filter(frame, rectangle)
        self._filters[key] = crop
        if len(self._filters) > MAX_CROPS:
            self._filters.popitem(last=False)
        return crop


def _make_filter(frame: av.VideoFrame, rectangle: Rectangle) -> _Filter:
    graph = av.filter.Graph()
    graph.threads = 1  # otherwise each graph starts a thread for every core
    entry = graph.add_buffer(
        width=frame.width, height=frame.height, format=frame.format, time_base=Fraction(1, 1000)
    )
    top, left, height, width = rectangle
    crop = graph.add("crop", f"w={width}:h={height}:x={left}:y={top}:exact=1")
    end = graph.add("buffersink")
    graph.link_nodes(entry, crop, end).configure()
    return _Filter(graph=graph, entry=entry, end=end)


def grid_of(frame: av.VideoFrame | Stored) -> tuple[int, int]:
    """Rows and columns that a cut has to keep together: those of one chroma sample."""
    layout = frame.format
    if layout.is_bayer:
        return 2, 2
    if len(layout.components) < 3:
        return 1, 1
    return _ANY // layout.chroma_height(_ANY), _ANY // layout.chroma_width(_ANY)

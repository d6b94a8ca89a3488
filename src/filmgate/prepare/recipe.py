"""The recipe of a training copy: everything that decides its bytes."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from filmgate.errors import UserError
from filmgate.records import Record, digest_bytes

Codec = Literal["h264", "hevc", "av1", "mpeg4", "jpeg", "raw"]
LayoutName = Literal["temporal", "short-gop", "intra", "jpeg", "decoded"]

RECIPE_VERSION = 2
"""Raised when the same recipe would make other bytes."""
QUALITY_RANGES: dict[Codec, tuple[int, int]] = {
    "h264": (0, 51), "hevc": (0, 51), "av1": (0, 63), "mpeg4": (2, 31), "jpeg": (2, 31),
    "raw": (0, 0),
}  # fmt: skip
"""Beyond them an encoder takes the nearest one without a word.
Source: https://ffmpeg.org/ffmpeg-codecs.html; x264 clips its CRF to 51."""


class Layout(Record, frozen=True, forbid_unknown_fields=True):
    """How the frames of a copy depend on each other."""

    name: LayoutName
    """``temporal``: references ``reference_every`` frames apart and nothing refers to the frames
    between; ``short-gop``: a key frame every ``key_every`` frames; ``intra``, ``jpeg`` and
    ``decoded``: each frame by itself."""
    codec: Codec
    """What the frames are compressed with; ``raw``: they are not."""
    quality: Annotated[int, Meta(ge=0, le=63)]
    """CRF of h264, hevc and av1, quantiser (2 is best) of mpeg4 and jpeg; lower is better, 0 of
    raw."""
    key_every: Annotated[int, Meta(ge=1, le=600)] = 1
    """Frames from one key frame to the next."""
    reference_every: Annotated[int, Meta(ge=1, le=16)] = 1
    """Frames from one reference to the next; 1: every frame can be one."""

    @property
    def label(self) -> str:
        """For tables and file names, for example ``temporal-h264-q18-k16-r4``."""
        parts: list[str] = [self.name, self.codec]
        if self.codec != "raw":
            parts.append(f"q{self.quality}")
        if self.key_every > 1:
            parts.append(f"k{self.key_every}")
        if self.reference_every > 1:
            parts.append(f"r{self.reference_every}")
        return "-".join(parts)


class Recipe(Record, frozen=True, forbid_unknown_fields=True):
    """What a training copy is to be."""

    layout: Layout
    """How its frames depend on each other."""
    size: tuple[Annotated[int, Meta(ge=2)], Annotated[int, Meta(ge=2)]] | None = None
    """Height and width that the picture covers, its shape kept: no side of a window of this size
    needs enlarging."""
    short_side: Annotated[int, Meta(ge=2)] | None = None
    """Pixels of the shorter side; neither this nor ``size``: the source's own size. A picture that
    is smaller than asked for is not enlarged."""
    fps: Annotated[float, Meta(ge=0.0001, le=1_000_000)] | None = None
    """Frames per second, taken from the source by its times; None: every frame at its own time."""
    interlaced: Literal["deinterlace", "weave", "leave-out"] = "deinterlace"
    """``deinterlace``: one full frame of each interlaced one (bwdif), at its time; ``weave``: both
    fields stay in one frame, for copies at the source's height."""
    hdr: Literal["keep", "leave-out"] = "keep"
    """PQ and HLG: 10 bits and the source's tags, with h264, hevc and av1; other codecs cannot hold
    it and leave the video out."""

    @property
    def digest(self) -> str:
        """Names the recipe: the same digest makes the same copy of the same source."""
        return digest_bytes(f"{RECIPE_VERSION}\0".encode() + msgspec.json.encode(self))


def takes_quality(codec: Codec, quality: int) -> bool:
    """Whether the codec's encoders have this quality."""
    low, high = QUALITY_RANGES[codec]
    return low <= quality <= high


def check_recipe(recipe: Recipe) -> None:
    """Raises UserError for a recipe that contradicts itself."""
    layout = recipe.layout
    if recipe.size is not None and recipe.short_side is not None:
        raise UserError("both a size and a short side are given", hint="give one of them")
    for why in _contradictions(layout):
        raise UserError(f"layout {layout.label}: {why}", hint="filmgate prepare --help lists them")


def _contradictions(layout: Layout) -> list[str]:
    every_frame = layout.name in ("intra", "jpeg", "decoded")
    whys = []
    for key in ("key_every", "reference_every"):
        if every_frame and (number := getattr(layout, key)) != 1:
            whys.append(f"{key} is {number}, but in {layout.name} each frame is by itself")
    if layout.name == "temporal" and layout.codec not in ("h264", "hevc", "mpeg4"):
        whys.append(
            f"{layout.codec} frames between references cannot be left out; h264, hevc and mpeg4 can"
        )
    if layout.name == "temporal" and layout.reference_every == 1:
        whys.append("temporal needs reference_every of 2 or more")
    if layout.name == "temporal" and layout.key_every % layout.reference_every:
        whys.append(
            f"key_every is {layout.key_every}, and has to be a multiple of reference_every, "
            f"{layout.reference_every}"
        )
    if layout.name != "temporal" and layout.reference_every != 1:
        whys.append("only temporal has a reference_every")
    if (layout.name == "jpeg") != (layout.codec == "jpeg"):
        whys.append("layout jpeg and codec jpeg go together")
    if (layout.name == "decoded") != (layout.codec == "raw"):
        whys.append("layout decoded and codec raw go together")
    if layout.codec == "raw" and layout.quality:
        whys.append(f"the quality is {layout.quality}, but raw frames have none")
    elif not takes_quality(layout.codec, layout.quality):
        low, high = QUALITY_RANGES[layout.codec]
        whys.append(
            f"the quality of {layout.codec} is {layout.quality}, and has to be {low} to {high}"
        )
    return whys

"""The layouts that are worth trying for a job's clips."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from filmgate.prepare.encoders import encoders_of
from filmgate.prepare.recipe import Codec, Layout, Recipe
from filmgate.spec import Clip

GOP_FRAMES = 16
"""Frames from one key frame to the next: a clip reaches its first frame by few others, and key
frames, which are several times as large as the rest, stay few."""
MAX_REFERENCE_EVERY = 8
"""Further apart, references predict badly."""
# Steps of about 1.5 dB; the middle ones reach 38 dB on most footage.
_QUALITIES: dict[Codec, tuple[int, ...]] = {
    "h264": (18, 20, 23),
    "hevc": (20, 23),
    "av1": (28, 35),
    "mpeg4": (3, 4, 5),
}


def candidates(
    clip: Clip, *, short_side: int | None = None, fps: float | None = None
) -> list[Recipe]:
    """Recipes for clips of this shape, of codecs that this machine can encode.

    Copies cover the clip's window, or have ``short_side`` to leave room for crops.
    """
    sizes = {"short_side": short_side} if short_side else {"size": (clip.height, clip.width)}
    return [
        msgspec.convert({"layout": layout, "fps": fps, **sizes}, Recipe, from_attributes=True)
        for layout in _layouts(reference_spacing(clip, fps))
        if encoders_of(layout.codec)
    ]


def reference_spacing(clip: Clip, fps: float | None) -> int:
    """Frames between references that suit the clip's stride; 1 where none does.

    A clip whose stride is a multiple of the spacing needs none of the frames between.
    """
    stride = clip.stride
    if stride is None or fps is not None or clip.sampling == "uniform":
        return 1
    divisors = [n for n in range(1, MAX_REFERENCE_EVERY + 1) if stride % n == GOP_FRAMES % n == 0]
    return max(divisors)


def _layouts(spacing: int) -> Sequence[Layout]:
    layouts = []
    for codec, qualities in _QUALITIES.items():
        for quality in qualities:
            layouts.append(
                Layout(name="short-gop", codec=codec, quality=quality, key_every=GOP_FRAMES)
            )
            if spacing > 1 and codec != "av1":
                layouts.append(
                    Layout(
                        name="temporal", codec=codec, quality=quality, key_every=GOP_FRAMES,
                        reference_every=spacing,
                    )
                )  # fmt: skip
    layouts.append(Layout(name="intra", codec="h264", quality=18))
    layouts.append(Layout(name="jpeg", codec="jpeg", quality=4))
    layouts.append(Layout(name="decoded", codec="raw", quality=0))
    return layouts

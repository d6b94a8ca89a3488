"""The layouts that are worth trying for a job's clips, and the one that a user names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from filmgate.errors import UserError
from filmgate.feed.geometry import Size
from filmgate.prepare.encoders import encoders_of
from filmgate.prepare.recipe import (
    QUALITY_RANGES,
    Codec,
    Layout,
    LayoutName,
    Recipe,
    check_recipe,
    takes_quality,
)
from filmgate.spec import Clip
from filmgate.spec.job import Prepare

GOP_FRAMES = 16
"""Frames from one key frame to the next: a clip reaches its first frame by few others, and key
frames, which are several times as large as the rest, stay few."""
MAX_REFERENCE_EVERY = 8
"""Further apart, references predict badly."""
RESIZED_CROP_ROOM = 1.5
"""Size of a copy over the clip's where crops of random size are enlarged to the clip."""
# Steps of about 1.5 dB; the middle ones reach 38 dB on most footage.
_QUALITIES: dict[Codec, tuple[int, ...]] = {
    "h264": (18, 20, 23),
    "hevc": (20, 23),
    "av1": (28, 35),
    "mpeg4": (3, 4, 5),
}
_QUICK_QUALITIES: dict[Codec, tuple[int, ...]] = {"h264": (20,), "mpeg4": (4,)}
_USUAL_QUALITY: dict[Codec, int] = {
    "h264": 20, "hevc": 20, "av1": 28, "mpeg4": 4, "jpeg": 4, "raw": 0,
}  # fmt: skip
_USUAL_CODEC: dict[LayoutName, Codec] = {
    "temporal": "h264", "short-gop": "h264", "intra": "h264", "jpeg": "jpeg", "decoded": "raw",
}  # fmt: skip
_WITH_REFERENCES = ("h264", "hevc", "mpeg4")
"""Codecs whose frames between references can be left out."""


def candidates(clip: Clip, prepare: Prepare | None = None, *, quick: bool = False) -> list[Recipe]:
    """Recipes for clips of this shape, of codecs that this machine can encode.

    What ``prepare`` names holds for all of them, as far as ``remarks_on`` does not say otherwise.
    ``quick``: the two that won most often. Raises UserError when key frames do not fall on the
    references that ``prepare`` names.
    """
    prepare = prepare if prepare is not None else Prepare()
    spacing = prepare.reference_every or reference_spacing(clip, prepare.fps)
    key_every = prepare.key_every or GOP_FRAMES
    if prepare.reference_every and key_every % prepare.reference_every:
        raise UserError(
            f"key frames every {key_every} frames do not fall on references every "
            f"{prepare.reference_every}",
            hint="make key_every a multiple of reference_every",
        )
    return [
        _recipe(layout, clip, prepare)
        for layout in _layouts(spacing, key_every, prepare.quality, quick)
        if prepare.layout in (None, layout.name)
        and prepare.codec in (None, layout.codec)
        and takes_quality(layout.codec, layout.quality)
        and encoders_of(layout.codec)
    ]


def remarks_on(prepare: Prepare, recipes: Sequence[Recipe]) -> list[str]:
    """Sentences about what ``prepare`` names and some of the candidates do not have."""
    layouts = [recipe.layout for recipe in recipes]
    remarks = []
    if prepare.quality is not None:
        ruled_out = [codec for codec in QUALITY_RANGES if not takes_quality(codec, prepare.quality)]
        remarks += [
            f"no {codec}: its quality goes from {QUALITY_RANGES[codec][0]} to "
            f"{QUALITY_RANGES[codec][1]}, and {prepare.quality} was asked for"
            for codec in ruled_out
            if codec != "raw" and prepare.codec in (None, codec)
        ]
        remarks += _remark(
            layouts, "quality", "raw frames have none", lambda one: one.codec == "raw"
        )
    if prepare.key_every not in (None, 1):
        remarks += _remark(
            layouts, "key_every", "there each frame is by itself", lambda one: one.key_every == 1
        )
    if prepare.reference_every not in (None, 1):
        remarks += _remark(
            layouts, "reference_every", "only temporal has references apart",
            lambda one: one.reference_every == 1,
        )  # fmt: skip
    return remarks


def _remark(
    layouts: Sequence[Layout], key: str, why: str, is_other: Callable[[Layout], bool]
) -> list[str]:
    names = dict.fromkeys(layout.name for layout in layouts if is_other(layout))
    return [f"{key} does not concern {', '.join(names)}: {why}"] if names else []


def named_recipe(clip: Clip, prepare: Prepare) -> Recipe | None:
    """The recipe whose layout or codec ``prepare`` names; None when it names neither.

    Raises UserError for one that contradicts itself.
    """
    if prepare.layout is None and prepare.codec is None:
        return None
    spacing = prepare.reference_every or reference_spacing(clip, prepare.fps)
    name = prepare.layout or _usual_layout(prepare.codec or "h264", spacing)
    codec = prepare.codec or _USUAL_CODEC[name]
    each_by_itself = name in ("intra", "jpeg", "decoded")
    layout = Layout(
        name=name,
        codec=codec,
        quality=_USUAL_QUALITY[codec] if prepare.quality is None else prepare.quality,
        key_every=prepare.key_every or (1 if each_by_itself else GOP_FRAMES),
        reference_every=spacing if name == "temporal" else prepare.reference_every or 1,
    )
    recipe = _recipe(layout, clip, prepare)
    check_recipe(recipe)
    return recipe


def reference_spacing(clip: Clip, fps: float | None) -> int:
    """Frames between references that suit the clip's stride; 1 where none does.

    A clip whose stride is a multiple of the spacing needs none of the frames between.
    """
    stride = clip.stride
    if stride is None or fps is not None or clip.sampling == "uniform":
        return 1
    divisors = [n for n in range(1, MAX_REFERENCE_EVERY + 1) if stride % n == GOP_FRAMES % n == 0]
    return max(divisors)


def _usual_layout(codec: Codec, spacing: int) -> LayoutName:
    if codec == "jpeg":
        return "jpeg"
    if codec == "raw":
        return "decoded"
    return "temporal" if spacing > 1 and codec in _WITH_REFERENCES else "short-gop"


def _recipe(layout: Layout, clip: Clip, prepare: Prepare) -> Recipe:
    own = prepare.size == "source" or prepare.short_side is not None
    return Recipe(
        layout=layout,
        size=None if own else _covered_size(clip, prepare.size),
        short_side=prepare.short_side,
        fps=prepare.fps,
        interlaced=prepare.interlaced,
        hdr=prepare.hdr,
    )


def _covered_size(clip: Clip, asked: str | None) -> Size:
    if asked is None:
        room = RESIZED_CROP_ROOM if clip.crop == "random-resized" else 1.0
        return max(2, round(clip.height * room)), max(2, round(clip.width * room))
    width, height = (int(side) for side in asked.split("x"))
    if min(width, height) < 2:
        raise UserError(f"a copy of {asked} is no picture", hint="give two sides of 2 or more")
    return height, width


def _layouts(spacing: int, key_every: int, quality: int | None, quick: bool) -> Sequence[Layout]:
    layouts = []
    for codec, usual in (_QUICK_QUALITIES if quick else _QUALITIES).items():
        has_references = spacing > 1 and codec in _WITH_REFERENCES and key_every % spacing == 0
        for number in usual if quality is None else (quality,):
            if not (quick and has_references):
                layouts.append(
                    Layout(name="short-gop", codec=codec, quality=number, key_every=key_every)
                )
            if has_references:
                layouts.append(
                    Layout(
                        name="temporal", codec=codec, quality=number, key_every=key_every,
                        reference_every=spacing,
                    )
                )  # fmt: skip
    if quick:
        return layouts
    own = [
        Layout(name="intra", codec="h264", quality=18 if quality is None else quality),
        Layout(name="jpeg", codec="jpeg", quality=4 if quality is None else quality),
        Layout(name="decoded", codec="raw", quality=0),
    ]
    return [*layouts, *own]

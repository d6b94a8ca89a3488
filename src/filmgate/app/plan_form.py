"""The sliders of a served plan: what they offer, and the request that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import get_args

from msgspec.structs import replace

from filmgate.errors import UserError
from filmgate.plan.cards import Card
from filmgate.plan.model import ModelFacts
from filmgate.plan.request import Checkpointing, PlanRequest, Precision

SIZES = ((256, 256), (320, 512), (480, 720), (480, 832), (720, 1280), (768, 1360), (1080, 1920))
"""Heights and widths that a slider offers, rounded to what the model takes."""
BATCHES = (1, 2, 4, 8, 16, 32, 64)
GPUS = (1, 2, 4, 8, 16, 32)
FIRST = "the best"
LONGEST = 40
"""Characters of one value; no name of a card is longer."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One slider or list of the form."""

    name: str
    label: str
    value: str
    options: list[str]
    """What may be chosen, in order; a slider moves along them."""
    slider: bool


@dataclass(frozen=True, kw_only=True)
class Form:
    """The form above a page that is served; a written page has none."""

    fields: list[Field]
    hidden: dict[str, str]
    """Names and values that go with every answer."""


def form_of(
    asked: PlanRequest, base: PlanRequest, facts: ModelFacts | None, cards: list[Card],
    card: str | None,
) -> Form:  # fmt: skip
    """The form as it stands at a request; what the job file says is always among the options."""
    size = f"{asked.width}x{asked.height}"
    fields = [
        _slider("size", "Resolution", size, _sizes(asked, base, facts)),
        _slider("frames", "Frames", str(asked.frames), _frames(asked, base, facts)),
        _slider("batch", "Batch", str(asked.batch), _numbers(BATCHES, asked.batch, base.batch)),
        _slider("gpus", "GPUs", str(asked.gpus), _numbers(GPUS, asked.gpus, base.gpus)),
        _list("precision", "Precision", asked.precision, list(get_args(Precision))),
        _list("card", "Card", card or FIRST, [FIRST, *(one.name for one in cards)]),
    ]
    if asked.mode != "generate":
        fields.insert(
            5, _list("checkpointing", "Activation checkpointing", asked.checkpointing,
                     list(get_args(Checkpointing))),
        )  # fmt: skip
    return Form(fields=fields, hidden={})


def request_of(values: Mapping[str, str], base: PlanRequest) -> tuple[PlanRequest, str | None]:
    """(Request, card) that the values of a form make. Raises UserError for values that are none."""
    for name, value in values.items():
        if name not in _READERS or len(value) > LONGEST:
            raise UserError(f"no field {name!r}={value!r}", hint=f"fields: {', '.join(_READERS)}")
    said: dict[str, object] = {}
    for name, value in values.items():
        said.update(_READERS[name](value))
    card = said.pop("card", None)
    if said.get("gpus", base.gpus) == 1:
        said["sharding"] = "none"
    elif base.sharding == "none":
        said["sharding"] = "ddp"
    kept = tuple(one for one in base.assumed if one.name not in said)
    return replace(base, assumed=kept, **said), None if card in (None, FIRST) else str(card)


def _read_size(value: str) -> dict[str, object]:
    width, _, height = value.partition("x")
    return {"width": _whole("size", width, 16384), "height": _whole("size", height, 16384)}


def _whole(name: str, value: str, most: int) -> int:
    if not value.isascii() or not value.isdecimal() or not 1 <= int(value) <= most:
        raise UserError(f"{name} is {value!r}", hint=f"a whole number from 1 to {most}")
    return int(value)


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> dict[str, object]:
    if value not in allowed:
        raise UserError(f"{name} is {value!r}; allowed: {', '.join(allowed)}")
    return {name: value}


_READERS: dict[str, Callable[[str], dict[str, object]]] = {
    "size": _read_size,
    "frames": lambda value: {"frames": _whole("frames", value, 100_000)},
    "batch": lambda value: {"batch": _whole("batch", value, 10_000)},
    "gpus": lambda value: {"gpus": _whole("gpus", value, 10_000)},
    "precision": lambda value: _one_of("precision", value, get_args(Precision)),
    "checkpointing": lambda value: _one_of("checkpointing", value, get_args(Checkpointing)),
    "card": lambda value: {"card": value},
}


def _sizes(asked: PlanRequest, base: PlanRequest, facts: ModelFacts | None) -> list[str]:
    multiple = facts.size_multiple if facts is not None else 16
    shapes = {(max(1, h // multiple) * multiple, max(1, w // multiple) * multiple)
              for h, w in SIZES}  # fmt: skip
    shapes |= {(asked.height, asked.width), (base.height, base.width)}
    if facts is not None:
        shapes.add(facts.native_shape[1:])
    ordered = sorted(shapes, key=lambda shape: (shape[0] * shape[1], shape))
    return [f"{width}x{height}" for height, width in ordered]


def _frames(asked: PlanRequest, base: PlanRequest, facts: ModelFacts | None) -> list[str]:
    wanted = {asked.frames, base.frames}
    if facts is None:
        return _numbers((4, 8, 16, 32, 64, 128), *wanted)
    rule = facts.frames_rule
    most = min(rule.most or 10**6, max(4 * facts.native_shape[0], 2 * base.frames))
    first = rule.least + (rule.remainder - rule.least) % rule.multiple
    counts = list(range(first, most + 1, rule.multiple))
    step = max(1, len(counts) // 24)
    return _numbers(tuple(counts[::step]), *wanted, facts.native_shape[0])


def _numbers(usual: tuple[int, ...], *wanted: int) -> list[str]:
    return [str(number) for number in sorted({*usual, *wanted})]


def _slider(name: str, label: str, value: str, options: list[str]) -> Field:
    return Field(name=name, label=label, value=value, options=options, slider=True)


def _list(name: str, label: str, value: str, options: list[str]) -> Field:
    return Field(name=name, label=label, value=value, options=options, slider=False)

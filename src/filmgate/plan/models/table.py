"""Look-up of a known model."""

from __future__ import annotations

import difflib
import re
from functools import cache

from filmgate.errors import UserError
from filmgate.plan.memory.recorder import Numerics
from filmgate.plan.memory.tape import Tape
from filmgate.plan.model import BlockGroup, ModelFacts, latent_shape, tokens
from filmgate.plan.models.known import KNOWN
from filmgate.plan.models.program import Program, Size

_PLAIN = Numerics(
    weight_item=2, compute_item=2, autocast=False, trains_weights=False, adapter_rank=0,
    adapts_all=False, checkpointing="none",
)  # fmt: skip


def model_names() -> tuple[str, ...]:
    """Names that ``[plan] model`` takes."""
    return tuple(KNOWN)


def find_model(name: str) -> ModelFacts:
    """The facts of a known model. Raises UserError with the nearest name and all names."""
    return _facts(_known_name(name))


def find_program(name: str) -> Program:
    """The forward pass of a known model. Raises as ``find_model``."""
    return KNOWN[_known_name(name)].program


def size_of(facts: ModelFacts, clips: int, frames: int, height: int, width: int) -> Size:
    """The size that a program is run with."""
    return Size(
        clips=clips,
        latent=latent_shape(facts, frames, height, width),
        tokens=tokens(facts, frames, height, width),
        text_tokens=facts.text_tokens,
    )


def _known_name(name: str) -> str:
    """A name as it is known, whatever its case, spaces and dashes."""
    plain = {_plain(known): known for known in KNOWN}
    found = plain.get(_plain(name))
    if found is not None:
        return found
    nearest = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=0.4)
    raise UserError(
        f"unknown model {name!r}; known: {', '.join(KNOWN)}",
        hint=f"did you mean {plain[nearest[0]]}? your own model goes into [model] factory"
        if nearest
        else "your own model goes into [model] factory",
    )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", name.lower())


@cache
def _facts(name: str) -> ModelFacts:
    known = KNOWN[name]
    blank = ModelFacts(
        name=name, title=known.title, parameters=0, native_forward_flops=0, blocks=(),
        **known.facts,
    )  # fmt: skip
    tape = Tape(_PLAIN)
    known.program(tape, size_of(blank, 1, *blank.native_shape))
    groups: dict[str, list[int]] = {}
    for (scope, _), weight in tape.weights.items():
        groups.setdefault(scope, []).append(weight.numel)
    return ModelFacts(
        name=name, title=known.title, blocks=_blocks(groups),
        parameters=sum(weight.numel for weight in tape.weights.values()),
        native_forward_flops=tape.forward_flops, **known.facts,
    )  # fmt: skip


def _blocks(groups: dict[str, list[int]]) -> tuple[BlockGroup, ...]:
    """Scopes of one kind and size together; what stands outside any block is left out."""
    counted: dict[tuple[str, int], int] = {}
    for scope, numels in groups.items():
        if scope:
            key = (re.sub(r"[0-9.]", "", scope), sum(numels))
            counted[key] = counted.get(key, 0) + 1
    return tuple(
        BlockGroup(kind=kind, count=count, parameters=parameters)
        for (kind, parameters), count in counted.items()
    )

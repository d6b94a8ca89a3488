"""What holds for every model: more work never needs less, a lever never needs more."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from filmgate.plan.memory import MemoryEstimate, estimate_memory, verdict
from filmgate.plan.models import find_model
from filmgate.plan.request import PlanRequest

MODELS = ("cogvideox-2b", "wan2.1-1.3b", "ltx-video-2b", "videomae-base", "r2plus1d-18")
ORDER = ("fits", "cannot say", "does not fit")
GIB = 2**30


@st.composite
def requests(draw: st.DrawFn) -> PlanRequest:
    facts = find_model(draw(st.sampled_from(MODELS)))
    rule = facts.frames_rule
    steps = draw(st.integers(0, 20))
    least = -(-(rule.least - rule.remainder) // rule.multiple) * rule.multiple + rule.remainder
    return PlanRequest(
        model=facts.name,
        mode=draw(st.sampled_from(["full", "lora", "generate"])),
        lora_rank=draw(st.integers(1, 128)),
        frames=least + rule.multiple * steps,
        height=facts.size_multiple * draw(st.integers(1, 12)) * (1 if facts.heads else 32),
        width=facts.size_multiple * draw(st.integers(1, 12)) * (1 if facts.heads else 32),
        batch=draw(st.integers(1, 4)),
        precision=draw(st.sampled_from(["bf16", "bf16-mixed", "fp32"])),
        optimizer=draw(st.sampled_from(["adamw", "adamw8bit", "sgd"])),
        checkpointing=draw(st.sampled_from(["none", "block", "selective"])),
    )


def never_less(more: MemoryEstimate, less: MemoryEstimate) -> bool:
    return (
        more.allocated_bytes >= less.allocated_bytes
        and more.reserved_low_bytes >= less.reserved_low_bytes
        and more.reserved_high_bytes >= less.reserved_high_bytes
    )


@settings(max_examples=8, deadline=None)
@given(requests(), st.sampled_from(["frames", "height", "width", "batch"]), st.integers(1, 3))
def test_more_frames_pixels_or_clips_never_need_less(
    request: PlanRequest, what: str, times: int
) -> None:
    facts = find_model(request.model)
    step = {"frames": facts.frames_rule.multiple, "batch": 1}.get(what, facts.size_multiple)
    more = replace(request, **{what: getattr(request, what) + times * step})
    assert never_less(estimate_memory(more), estimate_memory(request))


@settings(max_examples=8, deadline=None)
@given(requests())
def test_checkpointing_never_needs_more(request: PlanRequest) -> None:
    none, selective, block = (
        estimate_memory(replace(request, checkpointing=kind))
        for kind in ("none", "selective", "block")
    )
    assert never_less(none, selective)
    assert never_less(none, block)


@settings(max_examples=6, deadline=None)
@given(requests(), st.sampled_from(["optimizer", "optimizer+gradients"]))
def test_offloading_never_needs_more(request: PlanRequest, offload: str) -> None:
    assert never_less(estimate_memory(request), estimate_memory(replace(request, offload=offload)))


@settings(max_examples=6, deadline=None)
@given(requests(), st.integers(1, 200), st.integers(1, 200))
def test_a_larger_card_never_fits_worse(request: PlanRequest, small: int, more: int) -> None:
    found = estimate_memory(request)
    said = [verdict(found, size * GIB) for size in (small, small + more)]
    assert ORDER.index(said[1]) <= ORDER.index(said[0])

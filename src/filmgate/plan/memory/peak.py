"""Peak memory of a request, by the formulas of its model's blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from msgspec.structs import replace

from filmgate.plan.memory.estimate import MemoryEstimate, MemoryParts
from filmgate.plan.memory.ledger import Kind
from filmgate.plan.memory.setup import ITEMS, setup_of
from filmgate.plan.memory.simulate import Simulated, simulate
from filmgate.plan.model import Component, ModelFacts, check_shape
from filmgate.plan.models import find_model
from filmgate.plan.models.table import find_program, size_of
from filmgate.plan.request import Assumption, PlanRequest

MIB = 2**20
FRAGMENTATION = 1.4
"""Bytes that the caching allocator takes for a byte of activations and temporaries.

Source: the allocator replayed over the steps of the known models (``plan.memory.allocator``): 1.03
to 1.4, in training of few activations up to 1.7. Generation goes beyond it too; there the most
bytes of each size at a time are added up. Nothing comes from published peaks."""
LOAD_FRAGMENTATION = 1.05
"""The same for tensors that are loaded once: each starts on a multiple of 2 MiB or shares a
segment of 20 MiB."""
UNCERTAIN_BELOW = 0.97
"""A kernel may free earlier or keep less than the formulas say."""
WIDEST = 1.34
"""Highest over lowest figure: what is wider says nothing."""
ALLOCATOR_BYTES = 64 * MIB
"""Half-filled segments of both pools, and cuBLAS workspaces, which the allocator hands out too.
Source: CUBLAS_WORKSPACE_CONFIG, PyTorch notes on CUDA: 8 to 32 MiB a stream."""
CONTEXT_BYTES = (300 * MIB, 600 * MIB)
"""CUDA context and loaded kernels of a process."""
NCCL_BYTES = (200 * MIB, 1024 * MIB)
"""NCCL's channels, where there is more than one GPU."""
SMALL_BYTES = 256 * MIB
"""Activations below this may be more with checkpoints than without."""
VAE_MAPS = 4
"""Feature maps at full resolution that live at once in a residual block of a VAE: the residual,
the normed and padded input of a convolution, its result."""


def estimate_memory(request: PlanRequest) -> MemoryEstimate:
    """Peak memory on one GPU of a known model.

    Raises UserError for an unknown model and for a shape that it cannot take.
    """
    facts = find_model(request.model)
    check_shape(facts, request.frames, request.height, request.width)
    work = _work(request)
    beside = _beside_bytes(request, facts) if request.resident == "all" else 0
    candidates = [_job(request, work, beside)]
    if request.resident == "all" and facts.vae is not None and _uses_vae(request):
        weights = beside + work.static_bytes
        candidates.append(
            _stage(request, facts.vae.name, weights, vae_work_bytes(request, facts.vae))
        )
    if request.resident in ("stages", "all-then-backbone"):
        candidates += _stages(request, facts, work.static_bytes)
    return most_of(candidates)


def from_traced(request: PlanRequest, work: Simulated) -> MemoryEstimate:
    """What a traced step of the user's own model means for a card."""
    return replace(_job(request, work, 0), method="traced")


def most_of(candidates: Sequence[MemoryEstimate]) -> MemoryEstimate:
    """The candidate with the highest peak, its interval widened to hold every other's low."""
    most = max(candidates, key=lambda found: found.allocated_bytes)
    return MemoryEstimate(
        allocated_bytes=most.allocated_bytes,
        reserved_low_bytes=max(found.reserved_low_bytes for found in candidates),
        reserved_high_bytes=max(found.reserved_high_bytes for found in candidates),
        context_low_bytes=most.context_low_bytes,
        context_high_bytes=most.context_high_bytes,
        parts=most.parts,
        phase=most.phase,
        method=most.method,
        assumptions=most.assumptions,
    )


@lru_cache(maxsize=256)
def _simulated(key: PlanRequest) -> Simulated:
    facts = find_model(key.model)
    size = size_of(facts, key.batch, key.frames, key.height, key.width)
    return simulate(find_program(key.model), size, setup_of(key), allocator=False)


def _work(request: PlanRequest) -> Simulated:
    """The simulated step; the one without checkpoints where they cost more than they save."""
    found = _simulated(_seen(request))
    activations = found.peak_by_kind[Kind.ACTIVATIONS]
    is_small = request.checkpointing == "selective" or activations < SMALL_BYTES
    if request.checkpointing == "none" or not is_small:
        return found
    plain = _simulated(replace(_seen(request), checkpointing="none"))
    return min(found, plain, key=lambda work: work.peak_bytes)


def _seen(request: PlanRequest) -> PlanRequest:
    """The request without what the simulation does not see, so that it is run once for all."""
    return replace(request, assumed=(), resident="backbone", latents_precomputed=True)


def _job(request: PlanRequest, work: Simulated, beside: int) -> MemoryEstimate:
    kinds = work.peak_by_kind
    parts = MemoryParts(
        weights=kinds[Kind.WEIGHTS] + beside,
        gradients=kinds[Kind.GRADIENTS],
        optimizer=kinds[Kind.OPTIMIZER],
        activations=kinds[Kind.ACTIVATIONS],
        temporaries=kinds[Kind.TEMPORARIES],
        communication=kinds[Kind.COMMUNICATION],
    )
    moving = parts.activations + parts.temporaries
    highest = FRAGMENTATION * moving
    if request.mode == "generate":  # in training the sum over sizes may fall as clips grow
        highest = max(highest, LOAD_FRAGMENTATION * work.by_size_bytes)
    allocated = work.peak_bytes + beside
    low = int(UNCERTAIN_BELOW * allocated)
    high = int(LOAD_FRAGMENTATION * (allocated - moving) + highest)
    return _estimate(request, allocated, low, high + ALLOCATOR_BYTES, parts, work.phase)


def _estimate(
    request: PlanRequest, allocated: int, low: int, high: int, parts: MemoryParts, phase: str
) -> MemoryEstimate:
    several = request.gpus > 1
    return MemoryEstimate(
        allocated_bytes=allocated,
        reserved_low_bytes=low,
        reserved_high_bytes=min(high, int(WIDEST * low) + ALLOCATOR_BYTES),
        context_low_bytes=CONTEXT_BYTES[0] + (NCCL_BYTES[0] if several else 0),
        context_high_bytes=CONTEXT_BYTES[1] + (NCCL_BYTES[1] if several else 0),
        parts=parts,
        phase=phase,
        method="formula",
        assumptions=(*request.assumed, *_assumptions(request)),
    )


def _stages(request: PlanRequest, facts: ModelFacts, backbone: int) -> list[MemoryEstimate]:
    """Text encoding and the VAE's work, each by itself or beside everything else."""
    together = request.resident == "all-then-backbone"
    vae = facts.vae
    found = []
    if together:
        beside = _beside_bytes(request, facts)
        found.append(_stage(request, "load", beside + backbone, 0))
    else:
        found += [
            _stage(request, encoder.name, _weights(request, encoder), 0)
            for encoder in facts.text_encoders
        ]
    if vae is not None and not together:
        found.append(
            _stage(request, vae.name, _weights(request, vae), vae_work_bytes(request, vae))
        )
    return found


def _stage(request: PlanRequest, phase: str, weights: int, moving: int) -> MemoryEstimate:
    parts = MemoryParts(weights=weights, gradients=0, optimizer=0, activations=0,
                        temporaries=moving, communication=0)  # fmt: skip
    allocated = weights + moving
    high = int(LOAD_FRAGMENTATION * weights + FRAGMENTATION * moving) + ALLOCATOR_BYTES
    return _estimate(request, allocated, int(UNCERTAIN_BELOW * allocated), high, parts, phase)


def _uses_vae(request: PlanRequest) -> bool:
    return request.mode == "generate" or not request.latents_precomputed


def _beside_bytes(request: PlanRequest, facts: ModelFacts) -> int:
    """Weights of every other model of the pipeline."""
    others = [*facts.text_encoders, *([facts.vae] if facts.vae is not None else [])]
    spare = (facts.backbones - 1) * facts.parameters * ITEMS[request.precision][0]
    if request.mode != "generate":
        spare = 0  # experts are trained one at a time
    return sum(_weights(request, other) for other in others) + spare


def _weights(request: PlanRequest, component: Component) -> int:
    """What is not trained is held in the computing precision."""
    return component.parameters * ITEMS[request.precision][1]


def vae_work_bytes(request: PlanRequest, vae: Component) -> int:
    """Feature maps of encoding or decoding one clip at full resolution."""
    frames = (
        request.frames if vae.frames_at_once is None else min(vae.frames_at_once, request.frames)
    )
    places = frames * request.height * request.width
    return VAE_MAPS * (vae.width or 1) * places * ITEMS[request.precision][1]


def _assumptions(request: PlanRequest) -> tuple[Assumption, ...]:
    found = [
        Assumption(
            name="attention", value="flash",
            source="scaled_dot_product_attention on a GPU of compute capability 8.0 or more",
        ),
        Assumption(
            name="allocator", value=f"up to {FRAGMENTATION} bytes for a byte of activations",
            source="PyTorch's caching allocator replayed over the step",
        ),
    ]  # fmt: skip
    if request.mode != "generate" and ITEMS[request.precision][1] == 2:
        autocast = "off, as DeepSpeed runs" if request.sharding.startswith("zero") else "on"
        found.append(
            Assumption(name="autocast", value=autocast, source="accelerate, mixed_precision")
        )
    return tuple(found)

"""From a request to numbers: bytes of a weight, its gradient, its optimizer state, and shares."""

from __future__ import annotations

from dataclasses import dataclass

from filmgate.plan.memory.recorder import Numerics
from filmgate.plan.request import PlanRequest

ITEMS = {"bf16": (2, 2), "fp16": (2, 2), "bf16-mixed": (4, 2), "fp16-mixed": (4, 2),
         "fp32": (4, 4), "fp8": (1, 2)}  # fmt: skip
"""Precision -> bytes of a weight, bytes of a number in matrix products."""
DEEPSPEED = ("zero2", "zero3")
DEEPSPEED_STATE_BYTES = 12
"""A float32 copy of the weight and two float32 moments. Source: ZeRO, arXiv 1910.02054, 3.1."""
DEEPSPEED_BUCKET = 500_000_000
"""Numbers of ``reduce_bucket_size`` and ``allgather_bucket_size``. Source: DeepSpeed's
configuration page, defaults."""
DEEPSPEED_LIVE = 1_000_000_000
"""Numbers of ``stage3_max_live_parameters``, likewise."""
ADAMW8BIT_STATE_BYTES = 2 + 2 * 4 / 256
"""Two moments of a byte, and a float32 scale for each 256 of them. Source: bitsandbytes,
Optimizer2State, block-wise."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a request costs per weight."""

    numerics: Numerics
    trains: bool
    weight_share: float
    """Share of each weight that lies on this GPU."""
    state_bytes: float
    """Optimizer state of one trained weight on this GPU."""
    step_bytes: float
    """What the optimizer takes for itself, per trained weight."""
    bucket_numbers: int
    """Numbers that communication holds at a time; 0 without."""
    units: float
    """Unsharded blocks that are on the GPU at a time, as shares of the largest."""
    passes: int
    """Forward passes that have to be looked at."""


def setup_of(request: PlanRequest) -> Setup:
    """The costs of a request."""
    trains = request.mode != "generate"
    shards = request.gpus if request.sharding in ("zero2", "zero3", "fsdp2") else 1
    sharded_weights = request.sharding in ("zero3", "fsdp2")
    return Setup(
        numerics=_numerics(request, shards),
        trains=trains,
        weight_share=1 / shards if sharded_weights else 1.0,
        state_bytes=_state_bytes(request) / shards if trains else 0.0,
        step_bytes=_step_bytes(request) / shards if trains else 0.0,
        bucket_numbers=_bucket(request) if trains else 0,
        units=2.0 if sharded_weights or request.offload == "optimizer+weights" else 0.0,
        passes=min(request.accumulation, 2) if trains else 1,
    )


def _numerics(request: PlanRequest, shards: int) -> Numerics:
    weight_item, compute_item = ITEMS[request.precision]
    deepspeed = request.sharding in DEEPSPEED
    trains = request.mode != "generate"
    if (
        deepspeed and request.precision != "fp8"
    ):  # its engine holds the weights in the computing precision, without autocast
        weight_item = compute_item
    return Numerics(
        weight_item=weight_item,
        compute_item=compute_item,
        autocast=trains and compute_item == 2 and not deepspeed,
        trains_weights=request.mode in ("train", "full"),
        adapter_rank=request.lora_rank if request.mode == "lora" else 0,
        adapts_all=request.lora_targets == "all-linear",
        casts_weights=request.sharding != "fsdp2",
        checkpointing=request.checkpointing if trains else "none",
        keep_gradients=not (
            request.offload == "optimizer+gradients" or (deepspeed and request.offload != "none")
        ),
        gradient_share=1 / shards,
    )


def _state_bytes(request: PlanRequest) -> float:
    if request.offload != "none":
        return 0.0
    if request.sharding in DEEPSPEED:
        return DEEPSPEED_STATE_BYTES
    item = _trained_item(request)
    return {
        "adamw": 2 * item, "adamw8bit": ADAMW8BIT_STATE_BYTES, "sgd": item, "adafactor": 0.01 * item
    }[request.optimizer]  # fmt: skip


def _step_bytes(request: PlanRequest) -> float:
    """The foreach implementation makes one list of square roots. Source: torch.optim.adamw."""
    if request.offload != "none" or request.sharding in DEEPSPEED:
        return 0.0
    item = _trained_item(request)
    return {"adamw": item, "adamw8bit": 0.0, "sgd": 0.0, "adafactor": item}[request.optimizer]


def _trained_item(request: PlanRequest) -> int:
    """Bytes of a trained weight: adapters are never narrower than what is computed in."""
    weight_item, compute_item = ITEMS[request.precision]
    return max(weight_item, compute_item) if request.mode == "lora" else weight_item


def _bucket(request: PlanRequest) -> int:
    """Numbers in communication buffers; the caller caps it at what there is to send."""
    if request.sharding == "ddp" and request.gpus > 1:
        return 2**62  # DDP copies every gradient into a bucket
    if request.sharding == "zero2":
        return 2 * DEEPSPEED_BUCKET
    if request.sharding == "zero3":
        return DEEPSPEED_BUCKET + DEEPSPEED_LIVE
    return 0

"""What a plan is asked about: one model, one way of using it, one shape."""

from __future__ import annotations

from typing import Literal

from filmgate.records import Record

Mode = Literal["train", "full", "lora", "generate"]
Precision = Literal["bf16", "bf16-mixed", "fp16", "fp16-mixed", "fp32", "fp8"]
Optimizer = Literal["adamw", "adamw8bit", "sgd", "adafactor"]
Checkpointing = Literal["none", "block", "selective"]
Offload = Literal["none", "optimizer", "optimizer+gradients", "optimizer+weights"]
Sharding = Literal["none", "ddp", "zero2", "zero3", "fsdp2"]
Resident = Literal["backbone", "all", "all-then-backbone", "stages"]


class Assumption(Record, frozen=True):
    """One thing that the request did not say."""

    name: str
    """Field that was filled in."""
    value: str
    """What was taken."""
    source: str
    """Why this value: a default, the job's own table, or a page."""


class PlanRequest(Record, frozen=True, kw_only=True):
    """One job to plan for. Counts are per GPU unless they say otherwise."""

    model: str
    """Name of a known model (``filmgate.plan.models``), or ``module:function`` of your own."""
    mode: Mode
    """``train`` and ``full`` train every weight (from scratch, or from given ones), ``lora`` trains
    low-rank adapters on frozen weights, ``generate`` only runs forward."""
    lora_rank: int = 64
    """Rank of each adapter; read by ``lora`` only."""
    lora_targets: Literal["attention", "all-linear"] = "attention"
    """Linear layers that get an adapter: query, key, value and output of attentions, or all."""
    frames: int
    """Frames of one clip (T), in pixel space."""
    height: int
    """Pixels (H) of one clip."""
    width: int
    """Pixels (W) of one clip."""
    batch: int = 1
    """Clips per GPU in one forward pass."""
    precision: Precision = "bf16"
    """``bf16`` and ``fp16``: weights, gradients and optimizer in 16 bits; ``-mixed``: float32
    weights, gradients and optimizer under autocast; ``fp32``: everything in float32; ``fp8``:
    frozen weights in 8 bits, widened layer by layer."""
    optimizer: Optimizer = "adamw"
    """Decides the bytes of optimizer state per trained weight."""
    checkpointing: Checkpointing = "block"
    """``block``: only block inputs are kept, and each block is computed again in backward;
    ``selective``: results of matrix products and attention are kept, the rest computed again."""
    accumulation: int = 1
    """Forward passes per optimizer step; gradients stay between them."""
    latents_precomputed: bool = True
    """Latents and text embeddings come from disk, so that VAE and text encoder are not loaded while
    training."""
    resident: Resident = "backbone"
    """Models on the GPU at once: the trained one, ``all`` of the pipeline, all of it while latents
    are made and only the trained one from then on, or ``stages``, one after the other."""
    offload: Offload = "none"
    """What waits in RAM instead of GPU memory."""
    gpus: int = 1
    """GPUs of the job."""
    sharding: Sharding = "none"
    """How more than one GPU divides the work; ``zero2`` and ``zero3`` are DeepSpeed's stages."""
    assumed: tuple[Assumption, ...] = ()
    """Everything above that was not said, with where it came from."""

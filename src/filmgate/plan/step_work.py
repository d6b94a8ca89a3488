"""What one optimizer step asks of a GPU and of the links around it.

Letters as in ``filmgate.plan.model``: s tokens, d width, L blocks, P weights.
"""

from __future__ import annotations

from filmgate.plan.interval import Interval
from filmgate.plan.memory import MemoryEstimate
from filmgate.plan.memory.setup import ITEMS
from filmgate.plan.model import ModelFacts, flops_per_step, latent_shape, tokens
from filmgate.plan.request import PlanRequest
from filmgate.records import Record

ATTENTION_BACKWARD = 2.5
"""Backward over forward of attention (FlashAttention, which computes the scores again)."""
ELEMENT_PASSES = Interval(low=8.0, high=40.0)
"""Vectors of width d that a block writes or reads for each token beside its matrices: fused and
unfused norms, residuals, modulation, rotary embedding. Assumed."""
STATE_BYTES = {"adamw": 2.0, "adamw8bit": 0.0, "sgd": 1.0, "adafactor": 0.0}
"""Optimizer -> states of the size of a weight; 8-bit and factored ones count as 2 bytes or less."""


class StepWork(Record, frozen=True):
    """One optimizer step on one GPU."""

    clips: int
    """Clips that go through it, all accumulated passes."""
    tokens: int
    """Video and text tokens of one clip."""
    linear_flops: float
    """Operations of matrix products with weights."""
    attention_flops: float
    """Operations that grow with the square of the tokens."""
    moved_bytes: Interval
    """What passes through the GPU's memory beside the matrix products' own reuse."""
    host_bytes: float
    """What crosses the link to the host: the batch, and what is offloaded."""
    delivered_bytes_per_clip: float
    """One clip as it goes to the GPU: pixels, or latents and text embeddings."""
    trained_weights: int
    """Weights that are trained."""
    gradient_bytes: float
    """Gradients of all of them."""
    weight_bytes: float
    """All weights of the backbone, as FSDP gathers them."""

    @property
    def flops(self) -> float:
        """All operations."""
        return self.linear_flops + self.attention_flops


def work_of(facts: ModelFacts, request: PlanRequest, estimate: MemoryEstimate) -> StepWork:
    """The step of a request.

    Source of the operations: ``flops_per_step``. Known error of the bytes: what is fused into one
    kernel differs by a factor, hence the interval.
    """
    s = tokens(facts, request.frames, request.height, request.width) + facts.text_tokens
    clips = request.batch * request.accumulation
    attention = attention_flops(facts, request, s) * clips
    computed_bytes = ITEMS[request.precision][1]
    trained = trained_weights(facts, request, estimate)
    delivered = clip_bytes(facts, request)
    gradient = float(trained * trained_item(request))
    return StepWork(
        clips=clips,
        tokens=s,
        linear_flops=flops_per_step(facts, request) - attention,
        attention_flops=attention,
        moved_bytes=_moved(facts, request, s, trained, computed_bytes),
        host_bytes=clips * delivered + _offloaded(request, gradient, estimate),
        delivered_bytes_per_clip=delivered,
        trained_weights=trained,
        gradient_bytes=gradient,
        weight_bytes=float(facts.parameters * ITEMS[request.precision][0]),
    )


def attention_flops(facts: ModelFacts, request: PlanRequest, s: int) -> float:
    """The part of ``flops_per_step`` that grows with the square of the tokens, for one clip."""
    if not facts.heads:
        return 0.0
    forward = 4.0 * facts.layers * s * s * facts.hidden
    return forward * passes(request, backward=ATTENTION_BACKWARD)


def passes(request: PlanRequest, *, backward: float) -> float:
    """Forward passes that a step is worth, where backward is worth that many."""
    if request.mode == "generate":
        return 1.0
    return 1.0 + backward + (1.0 if request.checkpointing == "block" else 0.0)


def trained_item(request: PlanRequest) -> int:
    """Bytes of a trained weight and of its gradient; adapters are never narrower than computing."""
    weight, computed = ITEMS[request.precision]
    return max(weight, computed) if request.mode == "lora" else weight


def trained_weights(facts: ModelFacts, request: PlanRequest, estimate: MemoryEstimate) -> int:
    """Weights that get a gradient.

    Those of adapters are read off AdamW's states, which lie in memory all the time; where they do
    not, they are r (in + out) for the four products of two attentions a block, or all of its
    linear layers. Known error of that form: twice too many where a block has one attention.
    """
    if request.mode == "generate":
        return 0
    if request.mode in ("train", "full"):
        return facts.parameters
    states = estimate.parts.optimizer
    if states and request.optimizer == "adamw" and request.sharding in ("none", "ddp"):
        return states // (2 * trained_item(request))
    widths = 8 * 2 * facts.hidden
    if request.lora_targets == "all-linear":
        widths += 2 * (facts.hidden + facts.ffn)
    return request.lora_rank * widths * facts.layers


def clip_bytes(facts: ModelFacts, request: PlanRequest) -> float:
    """One clip as it goes to the GPU."""
    if request.latents_precomputed and facts.vae is not None:
        frames, height, width = latent_shape(facts, request.frames, request.height, request.width)
        latent = frames * height * width * (facts.latent_channels or 1)
        return 2.0 * (latent + facts.text_tokens * facts.text_width)
    return 3.0 * request.frames * request.height * request.width


def _moved(
    facts: ModelFacts, request: PlanRequest, s: int, trained: int, computed_bytes: int
) -> Interval:
    """Weights once a pass, elements of the activations, and the optimizer's update."""
    through = passes(request, backward=2.0)
    weights = facts.parameters * computed_bytes * through * request.accumulation
    elements = s * facts.layers * computed_bytes * through * request.batch * request.accumulation
    kept = trained_item(request)
    update = trained * 2.0 * kept * (2.0 + STATE_BYTES[request.optimizer])
    each = ELEMENT_PASSES.times(facts.hidden).plus(2.0 * facts.ffn)
    return each.times(elements).plus(weights + update)


def _offloaded(request: PlanRequest, gradient: float, estimate: MemoryEstimate) -> float:
    """Bytes that offloading moves in a step: gradients down, weights up; weights in turns."""
    if request.offload == "none":
        return 0.0
    moved = 2.0 * gradient
    if request.offload == "optimizer+weights":
        moved += passes(request, backward=1.0) * estimate.parts.weights
    return moved

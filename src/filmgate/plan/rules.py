"""Rules of thumb that the field repeats, each beside what it comes to for this job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from filmgate.errors import UserError
from filmgate.plan.cards import Card
from filmgate.plan.demand import STORAGE, Demand, Footage
from filmgate.plan.hardware import RankedCard, tier_of
from filmgate.plan.interval import Interval, exactly
from filmgate.plan.memory import MemoryEstimate
from filmgate.plan.model import ModelFacts, tokens
from filmgate.plan.request import PlanRequest
from filmgate.plan.server import Server
from filmgate.plan.step_time import Rates
from filmgate.plan.step_work import StepWork
from filmgate.plan.sync import INTERCONNECTS, Interconnect, scaling
from filmgate.records import Record
from filmgate.units import format_bytes

JPEG_BYTES_PER_PIXEL = Interval(low=0.15, high=0.4)
"""Of good JPEG pictures. Assumed."""


class RuleLine(Record, frozen=True):
    """One rule beside this job."""

    name: str
    """Lower case, dashes."""
    rule: str
    """As it is repeated."""
    here: str
    """What it comes to for this job, with its figures; why not, where it is unknown."""
    holds: bool | None
    """Whether the rule tells the same; None: unknown, or it asks for nothing."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What the rules are held against."""

    request: PlanRequest
    facts: ModelFacts | None
    estimate_of: Callable[[PlanRequest], MemoryEstimate] | None
    """Memory of another request for the same model; None where that takes a trace."""
    estimate: MemoryEstimate
    work: StepWork | None
    demand: Demand | None
    footage: Footage
    card: Card
    ranked: RankedCard
    rates: Rates
    server: Server | None


def all_rules(job: Job) -> list[RuleLine]:
    """Every rule, in the order in which a plan meets them."""
    return [rule(job) for rule in _RULES]


def _margin(job: Job) -> RuleLine:
    high = job.estimate.reserved_high_bytes + job.estimate.context_high_bytes
    floor, top = high / 0.8 / 2**30, high / 0.7 / 2**30
    return RuleLine(
        name="margin", rule="a memory floor with 20 to 30 % margin",
        here=f"at most {high / 2**30:.1f} GiB, so a card of {floor:.0f} to {top:.0f} GiB",
        holds=True,
    )  # fmt: skip


def _three_times(job: Job) -> RuleLine:
    said, rule = "fine-tuning-three-times", "fine-tuning needs three times generation"
    ways = _estimates(job, [replace(job.request, mode=mode, resident="backbone", offload="none")
                            for mode in ("generate", "lora", "full")])  # fmt: skip
    if ways is None:
        return _unknown(said, rule, "it takes a model by name")
    generate, lora, full = (one.allocated_bytes for one in ways)
    times = (lora / generate, full / generate)
    return RuleLine(
        name=said, rule=rule, holds=2 <= times[1] <= 4,
        here=f"{times[0]:.1f} times with adapters, {times[1]:.1f} times with every weight; "
        "activations decide",
    )  # fmt: skip


def _hundred_times(job: Job) -> RuleLine:
    said = "clip-against-image"
    rule = "a 32-frame 720p clip needs over 100 times an image's activations"
    if job.facts is None:
        return _unknown(said, rule, "it takes a model by name")
    shape = _near(job.facts)
    if shape is None:
        return _unknown(said, rule, "the model takes no clip of that size")
    frames, height, width = shape
    clip = replace(job.request, frames=frames, height=height, width=width, batch=1)
    image = replace(clip, frames=job.facts.frames_rule.least)
    ways = _estimates(job, [clip, image])
    if ways is None:
        return _unknown(said, rule, "it takes a model by name")
    times = ways[0].parts.activations / max(1, ways[1].parts.activations)
    pairs = (tokens(job.facts, *shape) / tokens(job.facts, image.frames, height, width)) ** 2
    return RuleLine(
        name=said, rule=rule, holds=times > 100,
        here=f"{times:.1f} times at {frames}x{height}x{width} against {image.frames} frame, and "
        f"{pairs:.0f} times the attention's operations",
    )  # fmt: skip


def _near(facts: ModelFacts) -> tuple[int, int, int] | None:
    """The allowed shape next to 32 frames of 720p."""
    rule, multiple = facts.frames_rule, facts.size_multiple
    frames = rule.multiple * round((32 - rule.remainder) / rule.multiple) + rule.remainder
    if frames < rule.least or (rule.most is not None and frames > rule.most):
        return None
    return frames, 720 // multiple * multiple, 1280 // multiple * multiple


def _tier(job: Job) -> RuleLine:
    fitting = tier_of(job.ranked.memory_bytes)
    return RuleLine(
        name="tiers", rule="8-12, 16-24, 32-48, 80 GB and more each allow their kind of work",
        here=f"{job.card.name} is of {fitting[0]}: {fitting[1]}; this job: {job.ranked.verdict}",
        holds=None,
    )  # fmt: skip


def _low_utilisation(job: Job) -> RuleLine:
    said, rule = "utilisation", "bandwidth starvation shows as low utilisation"
    if job.work is None or job.rates.matmul is None or job.rates.memory is None:
        return _unknown(said, rule, "no rate of this card, or no operations of this model")
    intensity = exactly(job.work.flops).over(job.work.moved_bytes)
    ridge = job.rates.matmul.per_second.over(job.rates.memory.per_second)
    bound = "memory" if intensity.high < ridge.low else "computing"
    if ridge.low <= intensity.high and intensity.low <= ridge.high:
        bound = "either"
    return RuleLine(
        name=said, rule=rule, holds=False,
        here=f"{intensity.low:.0f} to {intensity.high:.0f} operations a byte against "
        f"{ridge.low:.0f} to {ridge.high:.0f} of the card: bound by {bound}, and NVML reads near "
        "100 % either way; a low figure means gaps",
    )  # fmt: skip


def _cores(job: Job) -> RuleLine:
    said, rule = "cores-per-gpu", "16 to 32 CPU cores for each GPU"
    if job.demand is None:
        return _unknown(said, rule, "no step time")
    cores = job.demand.cores_per_gpu
    how = "measured" if job.demand.cores_basis == "measured" else "by what is assumed of decoding"
    return RuleLine(
        name=said, rule=rule, here=f"{_span(cores)} cores for each GPU, {how}",
        holds=cores.low <= 32 and cores.high >= 16,
    )  # fmt: skip


def _ram_per_vram(job: Job) -> RuleLine:
    said, rule = "ram-per-vram", "RAM at least twice VRAM, 2 to 4 GB for each GB"
    if job.demand is None:
        return _unknown(said, rule, "no step time")
    need, vram = job.demand.ram_bytes, job.card.memory_bytes * job.request.gpus
    return RuleLine(
        name=said, rule=rule,
        here=f"{_span(need.over(1e9))} GB, {_span(need.over(float(vram)))} times the GPUs' memory; "
        "processes, queue, what is offloaded, and a frame cache",
        holds=need.high >= 2 * vram,
    )  # fmt: skip


def _frame_buffer(job: Job) -> RuleLine:
    said = "frame-buffer"
    rule = "8 to 16 GB of frames in RAM for each GPU, 256 GB and more for millions of clips"
    cache = job.demand.cache_bytes if job.demand is not None else None
    if cache is None:
        why = "latents come from disk: no frames are kept"
        if job.demand is None or not job.request.latents_precomputed:
            why = "it takes --catalog"
        return _unknown(said, rule, why)
    each = cache / 1e9 / job.request.gpus
    return RuleLine(
        name=said, rule=rule, holds=each <= 16,
        here=f"{cache / 1e9:.3g} GB hold every frame at training size, {each:.3g} GB for each GPU",
    )  # fmt: skip


def _sequences(job: Job) -> RuleLine:
    said, rule = "image-sequences", "image sequences take 5 to 10 times the storage of video"
    footage = job.footage
    if not footage.size_bytes or not footage.num_frames or not footage.source_pixels:
        return _unknown(said, rule, "it takes --catalog")
    pixels = float(footage.num_frames * footage.source_pixels)
    times = JPEG_BYTES_PER_PIXEL.times(pixels).over(float(footage.size_bytes))
    return RuleLine(
        name=said, rule=rule, here=f"{_span(times)} times as JPEG at the videos' own size",
        holds=times.low <= 10 and times.high >= 5,
    )  # fmt: skip


def _drives(job: Job) -> RuleLine:
    rule = "1, 4, 8 NVMe drives read 5-7, 20-25, 40-50 GB/s"
    lanes = (5, 4)
    bound = [drives * 4 * 3.938 for drives in (1, 4, 8)]
    asked = "unknown" if job.demand is None else (
        f"up to {format_bytes(job.demand.read_bytes_per_second.high)}/s, so {job.demand.storage}"
    )  # fmt: skip
    return RuleLine(
        name="nvme-drives", rule=rule,
        here=f"this job reads {asked}; four lanes of generation {lanes[0]} end at "
        f"{bound[0]:.0f}, {bound[1]:.0f}, {bound[2]:.0f} GB/s",
        holds=None if job.demand is None
        else job.demand.read_bytes_per_second.high <= STORAGE[-1].bytes_per_second.high,
    )  # fmt: skip


def _link_rates(job: Job) -> RuleLine:
    link = job.card.link_bytes_per_second
    own = "it has none" if not link else f"{link / 1e9:.0f} GB/s each way"
    host = job.card.host_bytes_per_second
    return RuleLine(
        name="link-rates", rule="PCIe 5.0 x16 gives 64 GB/s each way, NVLink 600 to 900 GB/s",
        here=f"{job.card.name}: host link {'unknown' if host is None else f'{host / 1e9:.1f}'} "
        f"GB/s each way before packet headers; link to its neighbours: {own} "
        "(printed figures are both ways together)",
        holds=None,
    )  # fmt: skip


def _pcie_only(job: Job) -> RuleLine:
    return _efficiency(
        job, "pcie-only", "several GPUs over PCIe alone run below 50 % efficiency",
        [link for link in INTERCONNECTS if link.name.startswith("PCIe")],
        cards=max(2, job.request.gpus), expect=lambda low, high: low < 0.5,
    )  # fmt: skip


def _nvlink(job: Job) -> RuleLine:
    return _efficiency(
        job, "nvlink-from-four", "NVLink from four GPUs on",
        [INTERCONNECTS[0], INTERCONNECTS[3]], cards=max(4, job.request.gpus),
        expect=lambda low, high: low < 0.9,
    )  # fmt: skip


def _network(job: Job) -> RuleLine:
    return _efficiency(
        job, "network", "InfiniBand of 200 to 400 Gb/s, or RoCE, between machines",
        list(INTERCONNECTS[5:]), cards=max(16, job.request.gpus),
        expect=lambda low, high: low < 0.9,
    )  # fmt: skip


def _efficiency(
    job: Job, name: str, rule: str, links: list[Interconnect], *, cards: int,
    expect: Callable[[float, float], bool],
) -> RuleLine:  # fmt: skip
    """Scaling over links, the first of which the rule is about."""
    if job.work is None or job.ranked.step is None:
        return _unknown(name, rule, "no step time")
    if not job.work.trained_weights:
        return RuleLine(name=name, rule=rule, here="nothing is trained: no gradients", holds=False)
    request = replace(
        job.request, gpus=cards,
        sharding=job.request.sharding if job.request.sharding != "none" else "ddp",
    )  # fmt: skip
    alone = next(part.seconds for part in job.ranked.step.parts if part.name == "compute")
    found = [scaling(job.work, request, alone, link, cards=cards) for link in links]
    said = ", ".join(f"{one.interconnect} {_percent(one.efficiency)}" for one in found)
    sent = found[0].sent_bytes / 1e9
    first = found[0].efficiency
    return RuleLine(
        name=name, rule=rule, here=f"{cards} cards, {sent:.2g} GB each a step: {said}",
        holds=expect(first.low, first.high),
    )  # fmt: skip


def _estimates(job: Job, requests: list[PlanRequest]) -> list[MemoryEstimate] | None:
    if job.estimate_of is None:
        return None
    try:
        return [job.estimate_of(request) for request in requests]
    except UserError:
        return None


def _unknown(name: str, rule: str, why: str) -> RuleLine:
    return RuleLine(name=name, rule=rule, here=f"unknown: {why}", holds=None)


def _span(value: Interval) -> str:
    low, high = f"{value.low:.2g}", f"{value.high:.2g}"
    return low if low == high else f"{float(low):g} to {float(high):g}"


def _percent(value: Interval) -> str:
    low, high = f"{100 * value.low:.0f}", f"{100 * value.high:.0f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


_RULES: tuple[Callable[[Job], RuleLine], ...] = (
    _margin, _three_times, _hundred_times, _tier, _low_utilisation, _cores, _ram_per_vram,
    _frame_buffer, _sequences, _drives, _link_rates, _pcie_only, _nvlink, _network,
)  # fmt: skip

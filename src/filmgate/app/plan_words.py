"""What a plan says for a person: the same words on the terminal and on the page."""

from __future__ import annotations

from filmgate.app.plan_whole import WholePlan
from filmgate.plan.hardware import RankedCard
from filmgate.plan.interval import Interval
from filmgate.plan.request import Assumption, PlanRequest
from filmgate.units import format_bytes

MODES = {
    "train": "training", "full": "full fine-tuning", "lora": "fine-tuning by adapters",
    "generate": "generation",
}  # fmt: skip


def headline(plan: WholePlan) -> str:
    """The answer in a sentence."""
    chosen = next(one for one in plan.cards if one.card == plan.chosen)
    how_many = f"{plan.request.gpus} x {plan.chosen}" if plan.request.gpus > 1 else plan.chosen
    high = plan.estimate.reserved_high_bytes + plan.estimate.context_high_bytes
    verdicts = {
        "fits": f"{how_many} holds {MODES[plan.request.mode]} of {plan.title}",
        "cannot say": f"{how_many} may hold {MODES[plan.request.mode]} of {plan.title}",
        "does not fit": f"{how_many} does not hold {MODES[plan.request.mode]} of {plan.title}",
    }
    return f"{verdicts[chosen.verdict]}: up to {high / 2**30:.1f} GiB on each"


def shape_words(request: PlanRequest) -> str:
    """What was planned for, in a line."""
    said = [
        f"{request.frames} frames of {request.width}x{request.height}",
        f"batch {request.batch}"
        + (f" x {request.accumulation}" if request.accumulation > 1 else ""),
        request.precision,
    ]
    if request.mode != "generate":
        said += [request.optimizer, f"checkpointing {request.checkpointing}"]
    if request.mode == "lora":
        said.append(f"rank {request.lora_rank}")
    if request.gpus > 1:
        said.append(f"{request.gpus} GPUs, {request.sharding}")
    return ", ".join(said)


def figures(plan: WholePlan) -> list[tuple[str, str, str]]:
    """(name, figure, note) of the four that come first."""
    told = plan.estimate
    chosen = next(one for one in plan.cards if one.card == plan.chosen)
    low = (told.reserved_low_bytes + told.context_low_bytes) / 2**30
    high = (told.reserved_high_bytes + told.context_high_bytes) / 2**30
    found = [
        ("GPU memory", f"{low:.1f} to {high:.1f} GiB",
         f"{told.allocated_bytes / 2**30:.1f} GiB allocated, by {told.method}"),
    ]  # fmt: skip
    if chosen.step is not None:
        what = "a forward pass" if plan.request.mode == "generate" else "a step"
        found.append((what, seconds_span(chosen.step.seconds), f"bound by {chosen.step.binds}"))
    if plan.job_hours is not None:
        found.append(("one run", seconds_span(plan.job_hours.times(3600.0)), "all its steps"))
    elif plan.demand is not None and plan.request.mode != "generate":
        rate = f"{span(plan.demand.clips_per_second)} clips/s"
        found.append(("what the feed must give", rate, ""))
    if plan.cost is not None:
        own = next(one for one in plan.cost.ways if one.way == "own")
        cloud = next(one for one in plan.cost.ways if one.way == "cloud")
        best = own if own.usd_per_month is not None else cloud
        if best.usd_per_month is not None:
            hours = f"{best.way}, {plan.cost.wish.hours_per_month:g} hours a month"
            found.append(("cost a month", usd(best.usd_per_month), hours))
    return found


def card_rows(plan: WholePlan) -> list[tuple[RankedCard, list[str]]]:
    """(card, cells) in order: card, memory, verdict, step, bandwidth for the price, ECC, power."""
    return [(one, _cells(one)) for one in plan.cards]


CARD_COLUMNS = ("card", "memory", "verdict", "step", "MB/s per $", "clips per $", "ECC", "power")


def _cells(one: RankedCard) -> list[str]:
    price, rented = one.bandwidth_per_usd, one.clips_per_usd_hour
    return [
        one.card,
        f"{one.memory_bytes / 2**30:.0f} GiB",
        one.verdict,
        "unknown" if one.step is None else seconds_span(one.step.seconds),
        "" if price is None else span(price.over(1e6)),
        "" if rented is None else span(rented),
        {True: "yes", False: "no", None: ""}[one.has_ecc],
        "" if one.power_watts is None else f"{one.power_watts:.0f} W",
    ]


def lever_rows(plan: WholePlan) -> list[tuple[str, str]]:
    """(change, what it saves and what is given for it)."""
    rows = [
        (lever.change, f"saves {lever.saves_bytes / 2**30:.1f} GiB; {lever.trades}")
        for lever in plan.levers
    ]
    if plan.largest_batch is not None:
        largest = f"{plan.largest_batch} clips on the smallest card that holds the job"
        rows.append(("largest batch", largest))
    return rows


def demand_rows(plan: WholePlan) -> list[tuple[str, str]]:
    """What the step asks of all else."""
    told = plan.demand
    if told is None:
        return []
    rows = []
    if plan.request.mode != "generate":
        rows = [
            ("clips", f"{span(told.clips_per_second)} a second, over all GPUs"),
            ("to the GPUs", f"{bytes_span(told.delivered_bytes_per_second)}/s"),
            ("from storage", f"{bytes_span(told.read_bytes_per_second)}/s: {told.storage}"),
        ]
    basis = "" if told.cores_basis == "derived" else f", {told.cores_basis}"
    rows.append(("CPU cores", f"{span(told.cores)}{basis}"))
    if told.decode_engines is not None:
        rows.append(("or decode engines", f"{span(told.decode_engines)} beside 2 cores a GPU"))
    cache = "" if told.cache_bytes is None else "; the upper end holds every frame"
    rows.append(("main memory", f"{bytes_span(told.ram_bytes)}{cache}"))
    if plan.staging_seconds:
        rows.append(("staging the videos", _over(plan.staging_seconds)))
    handed = f"handing out {format_bytes(plan.result_bytes)}"
    rows.append((handed, _over(plan.hand_out_seconds)))
    return rows


def _over(links: dict[str, Interval]) -> str:
    return "; ".join(f"{seconds_span(took)} over {link}" for link, took in links.items())


def seconds_span(value: Interval) -> str:
    """``1.2 to 3.4 s``, in one unit."""
    scale, unit = next((scale, unit) for least, scale, unit in _UNITS if value.high >= least)
    low, high = _three(value.low * scale), _three(value.high * scale)
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


_UNITS = (
    (7200, 1 / 3600, "h"), (300, 1 / 60, "min"), (1, 1.0, "s"), (0.001, 1e3, "ms"), (0, 1e6, "us"),
)  # fmt: skip
"""(from so many seconds on, unit's share of a second, unit)."""


def _three(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def span(value: Interval) -> str:
    """``1.2 to 3.4``; one number where both ends read alike."""
    low, high = _short(value.low), _short(value.high)
    return low if low == high else f"{low} to {high}"


def bytes_span(value: Interval) -> str:
    """The same in bytes."""
    low, high = format_bytes(value.low), format_bytes(value.high)
    return low if low == high else f"{low} to {high}"


def usd(value: Interval) -> str:
    """Dollars, two figures of which mean something."""
    low, high = _dollars(value.low), _dollars(value.high)
    return f"${low}" if low == high else f"${low} to {high}"


def _dollars(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2f}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def all_assumed(plan: WholePlan) -> list[Assumption]:
    """Everything that was assumed, each once."""
    found = [*plan.request.assumed, *plan.estimate.assumptions, *plan.assumed]
    return list({(one.name, one.value): one for one in found}.values())

"""The hardware half of a plan: cards, step, demand, server, cost and rules, from one question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date

from filmgate.plan.cards import Card, find_card, stale_prices
from filmgate.plan.cost import Cost, CostParts, cost_of, parts_of
from filmgate.plan.demand import Demand, Footage, copy_seconds, demand_of, hand_out_seconds
from filmgate.plan.hardware import RankedCard, rank_cards
from filmgate.plan.interval import Interval, exactly
from filmgate.plan.memory import MemoryEstimate
from filmgate.plan.model import ModelFacts
from filmgate.plan.money import CostWish
from filmgate.plan.prices import Prices, stale_figures
from filmgate.plan.request import Assumption, PlanRequest
from filmgate.plan.rules import Job, RuleLine, all_rules
from filmgate.plan.server import GPUS_IN_A_MACHINE, Server, server_for
from filmgate.plan.step_time import Rates, rates_of
from filmgate.plan.step_work import StepWork, trained_item
from filmgate.plan.sync import REACHED, Scaling, all_scalings, link_of, sent_bytes
from filmgate.plan.table import Figure
from filmgate.records import Record

LINKS_BITS = {"1 Gb/s": 1e9, "10 Gb/s": 10e9, "25 Gb/s": 25e9, "100 Gb/s": 100e9}
"""Links over which a dataset is staged."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """Everything that the hardware half is computed from."""

    request: PlanRequest
    estimate: MemoryEstimate
    work: StepWork | None
    """None where the operations of a model are not known."""
    facts: ModelFacts | None
    estimate_of: Callable[[PlanRequest], MemoryEstimate] | None
    """Memory of other requests for the same model; None where that takes a trace."""
    cards: list[Card]
    prices: Prices
    today: date
    card: str | None = None
    """The card that is planned with; None: the first of the ranking."""
    wish: CostWish = field(default_factory=CostWish)
    footage: Footage = field(default_factory=Footage)
    frame_step: float = 2.0
    """Source frames from one frame of a clip to the next."""
    steps: int | None = None
    """Optimizer steps of one run, or clips that are wanted of ``generate``."""
    commit_every_steps: int = 25
    measured: dict[str, Rates] = field(default_factory=dict)
    """Card -> rates that `filmgate bench` found."""


class HardwarePlan(Record, frozen=True):
    """What to compute on, and what it costs."""

    cards: list[RankedCard]
    """All cards, the best for this job first."""
    chosen: str
    """The card that the rest is planned with."""
    work: StepWork | None
    """A step on one GPU; None where the model's operations are not known."""
    demand: Demand | None
    """What the step asks of all else; None without a step time."""
    scalings: list[Scaling]
    """Several cards over each interconnect; empty for one."""
    job_hours: Interval | None
    """Of one run; None without a step time."""
    checkpoint_bytes: int
    """Trained weights with their optimizer state, as each checkpoint holds them."""
    result_bytes: int
    """What a run hands out: the trained weights, or the model's where nothing is trained."""
    staging_seconds: dict[str, Interval]
    """Link -> time to stage the videos; empty where their size is unknown."""
    hand_out_seconds: dict[str, Interval]
    """Link -> time to hand the result to one receiver."""
    server: Server | None
    """The machine around the card; None without a step time."""
    cost: Cost | None
    """Of owning and renting it."""
    cost_parts: CostParts | None
    """For a curve of the cost over the hours."""
    rules: list[RuleLine]
    """Rules of thumb beside what they come to here."""
    assumed: list[Assumption]
    """Everything that was assumed, with its source."""
    stale: list[Figure]
    """Prices that are too old to be trusted."""
    warnings: list[str]
    """What to mind, a sentence each."""


def plan_hardware(question: Question) -> HardwarePlan:
    """The plan. Raises UserError for a card that there is not, and for impossible wishes."""
    request, work = question.request, question.work
    ranked = rank_cards(
        question.cards, question.estimate, work, request,
        measured=question.measured, sync=_sync(question),
    )  # fmt: skip
    chosen = find_card(question.cards, question.card or ranked[0].card)
    mine = next(one for one in ranked if one.card == chosen.name)
    seconds = mine.step.seconds if mine.step else None
    scalings = _scalings(question, seconds)
    demand = _demand(question, seconds)
    checkpoint = _checkpoint_bytes(question)
    server = None
    if demand is not None:
        server = server_for(
            chosen, request, question.estimate, demand, question.footage, scalings
        )  # fmt: skip
    cost = _cost(question, chosen, server, seconds)
    stored = _stored_gb(question)
    return HardwarePlan(
        cards=ranked,
        chosen=chosen.name,
        work=work,
        demand=demand,
        scalings=scalings,
        job_hours=_job_hours(question, seconds),
        checkpoint_bytes=checkpoint,
        result_bytes=_result_bytes(question),
        staging_seconds=_staging(question.footage),
        hand_out_seconds=hand_out_seconds(_result_bytes(question)),
        server=server,
        cost=cost,
        cost_parts=None if cost is None or server is None
        else parts_of(server, chosen, question.prices, cost, stored),
        rules=_rules(question, chosen, mine, demand, server),
        assumed=[*(demand.assumed if demand else []), *(server.assumed if server else [])],
        stale=[*stale_prices(question.cards, question.today),
               *stale_figures(question.prices, question.today)],
        warnings=_warnings(ranked, mine, server),
    )  # fmt: skip


def _sync(question: Question) -> dict[str, Interval]:
    """Card -> time of its gradient sync, over its own link or through the host."""
    work, request = question.work, question.request
    sent = 0.0 if work is None else sent_bytes(work, request, cards=request.gpus)
    found = {}
    for card in question.cards:
        link = link_of(card, cards=min(request.gpus, GPUS_IN_A_MACHINE))
        if sent and link is not None:
            rate = exactly(link.bytes_per_second).times(REACHED)
            found[card.name] = exactly(sent).over(rate)
    return found


def _scalings(question: Question, seconds: Interval | None) -> list[Scaling]:
    if question.work is None or seconds is None or question.request.gpus < 2:
        return []
    return all_scalings(
        question.work, question.request, seconds, cards=question.request.gpus
    )  # fmt: skip


def _demand(question: Question, seconds: Interval | None) -> Demand | None:
    if question.work is None or seconds is None:
        return None
    parts = question.estimate.parts
    offload = question.request.offload
    offloaded = 0 if offload == "none" else parts.optimizer
    if offload in ("optimizer+gradients", "optimizer+weights"):
        offloaded += parts.gradients
    if offload == "optimizer+weights":
        offloaded += int(question.work.weight_bytes)
    return demand_of(
        question.work, question.request, seconds, question.footage,
        frame_step=question.frame_step, offloaded_bytes=offloaded * question.request.gpus,
    )  # fmt: skip


def _checkpoint_bytes(question: Question) -> int:
    """Trained weights and their states; AdamW keeps two of them."""
    work = question.work
    trained = work.trained_weights if work is not None else 0
    return trained * trained_item(question.request) * 3


def _result_bytes(question: Question) -> int:
    trained = question.work.trained_weights if question.work is not None else 0
    if not trained:
        return question.estimate.parts.weights
    return trained * trained_item(question.request)


def _job_hours(question: Question, seconds: Interval | None) -> Interval | None:
    if seconds is None or question.steps is None:
        return None
    return seconds.times(question.steps / 3600)


def _stored_gb(question: Question) -> float:
    if question.wish.stored_gb is not None:
        return question.wish.stored_gb
    return (question.footage.size_bytes or 0) / 1e9


def _staging(footage: Footage) -> dict[str, Interval]:
    if footage.size_bytes is None:
        return {}
    return {name: copy_seconds(footage.size_bytes, bits) for name, bits in LINKS_BITS.items()}


def _cost(
    question: Question, card: Card, server: Server | None, seconds: Interval | None
) -> Cost | None:
    if server is None or seconds is None:
        return None
    return cost_of(
        server, card, question.prices, question.wish,
        checkpoint_seconds=seconds.times(float(question.commit_every_steps)),
        job_hours=_job_hours(question, seconds), dataset_bytes=question.footage.size_bytes,
    )  # fmt: skip


def _rules(
    question: Question, card: Card, mine: RankedCard, demand: Demand | None, server: Server | None
) -> list[RuleLine]:
    precision, measured = question.request.precision, question.measured.get(card.name)
    return all_rules(
        Job(
            request=question.request, facts=question.facts, estimate_of=question.estimate_of,
            estimate=question.estimate, work=question.work, demand=demand,
            footage=question.footage, card=card, ranked=mine, server=server,
            rates=rates_of(card, precision=precision, measured=measured),
        )
    )  # fmt: skip


def _warnings(ranked: list[RankedCard], mine: RankedCard, server: Server | None) -> list[str]:
    found = []
    if all(one.verdict == "does not fit" for one in ranked):
        found.append("no card of the table holds this job: shard it, offload, or make it smaller")
    elif mine.verdict == "does not fit":
        fitting = [one.card for one in ranked if one.verdict == "fits"][:3]
        found.append(f"{mine.card} does not hold this job; {', '.join(fitting) or 'others may'} do")
    elif mine.verdict == "cannot say":
        found.append(f"whether {mine.card} holds this job lies within the margin: try it first")
    found += [f"{mine.card}: {note}" for note in mine.notes]
    return found + (server.warnings if server else [])

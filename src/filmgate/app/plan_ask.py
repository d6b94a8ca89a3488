"""From a job file and the options of the command line to what is planned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from filmgate.app.plan_cards import plan_cards
from filmgate.app.plan_form import request_of
from filmgate.app.plan_memory import requested
from filmgate.app.plan_whole import Asked, Measured, footage_of
from filmgate.plan.cards import Card, find_card, read_cards
from filmgate.plan.demand import Footage
from filmgate.plan.hardware_plan import Question, plan_hardware
from filmgate.plan.memory import MemoryEstimate
from filmgate.plan.model import ModelFacts
from filmgate.plan.money import CostWish, check_wish
from filmgate.plan.prices import read_prices
from filmgate.plan.request import PlanRequest
from filmgate.plan.step_time import Rates
from filmgate.plan.step_work import StepWork, work_of
from filmgate.spec import Job

if TYPE_CHECKING:
    from filmgate.machine import Machine
    from filmgate.plan.upgrade import Upgrade

EstimateOf = Callable[[PlanRequest], MemoryEstimate]


@dataclass(frozen=True, kw_only=True)
class PlanWish:
    """What the command line says beside the job."""

    catalog: Path | None = None
    machine: Path | None = None
    add: tuple[str, ...] = ()
    """Parts that are thought of for that machine."""
    card: str | None = None
    cards: Path | None = None
    prices: Path | None = None
    measured: tuple[Path, ...] = ()
    money: CostWish = field(default_factory=CostWish)


def ask_for(
    wish: PlanWish,
    job: Job,
    request: PlanRequest,
    facts: ModelFacts | None,
    estimate_of: EstimateOf,
) -> Asked:
    """What is planned for a job. Raises UserError for files and wishes that cannot be."""
    check_wish(wish.money)
    cards = read_cards(wish.cards)
    card = None if wish.card is None else find_card(cards, wish.card).name
    measured = _measured(wish, request)
    footage = _footage(wish, measured)
    estimate = estimate_of(request)
    question = Question(
        request=request,
        estimate=estimate,
        work=_work(facts, request, estimate),
        facts=facts,
        estimate_of=None if facts is None else estimate_of,
        cards=cards,
        prices=read_prices(wish.prices),
        today=datetime.now(UTC).date(),
        card=card,
        wish=wish.money,
        footage=footage,
        frame_step=float(job.clip.stride or 1),
        steps=_steps(job, request),
        commit_every_steps=job.train.commit_every_steps,
        measured=_by_card(measured, cards),
    )
    return Asked(job=job.job.name, question=question, upgrades=_upgrades(wish, question))


def ask_again(first: Asked, values: Mapping[str, str], estimate_of: EstimateOf) -> Asked:
    """The same job at the values of a form. Raises UserError for values that cannot be."""
    question = first.question
    request, card = request_of(values, question.request)
    if card is not None:
        card = find_card(question.cards, card).name
    estimate = estimate_of(request)
    changed = replace(
        question, request=request, estimate=estimate,
        work=_work(question.facts, request, estimate),
        card=card if "card" in values else question.card,
    )  # fmt: skip
    return replace(first, question=changed, memory=None)


def _work(
    facts: ModelFacts | None, request: PlanRequest, estimate: MemoryEstimate
) -> StepWork | None:
    return None if facts is None else work_of(facts, request, estimate)


def _steps(job: Job, request: PlanRequest) -> int | None:
    """Updates of the run, or clips that are wanted; None where the job says neither."""
    if request.mode == "generate":
        return job.deliverable.variants
    return job.train.steps


def _measured(wish: PlanWish, request: PlanRequest) -> Measured:
    if not wish.measured:
        return Measured()
    from filmgate.app.plan_measured import read_measured

    return read_measured(list(wish.measured), request.precision)


def _by_card(measured: Measured, cards: list[Card]) -> dict[str, Rates]:
    if measured.rates is None or measured.card is None:
        return {}
    from filmgate.plan.upgrade import present_card

    card = present_card(measured.card, cards)
    return {} if card is None else {card.name: measured.rates}


def _footage(wish: PlanWish, measured: Measured) -> Footage:
    if wish.catalog is None:
        return footage_of(None, measured)
    from filmgate.catalog import open_catalog, summarise

    return footage_of(summarise(open_catalog(wish.catalog)), measured)


def _upgrades(wish: PlanWish, question: Question) -> list[Upgrade]:
    if wish.machine is None:
        return []
    from filmgate.machine import open_machine
    from filmgate.plan.upgrade import parse_part, upgrade_of

    machine: Machine = open_machine(wish.machine)
    demand = plan_hardware(question).demand
    parts = [parse_part(words, question.cards) for words in wish.add]
    return [
        upgrade_of(
            machine, part, question.cards, question.work, demand,
            precision=question.request.precision,
        )
        for part in parts
    ]  # fmt: skip


def ask_job(path: Path | None, wish: PlanWish) -> tuple[Asked, EstimateOf]:
    """What is planned for a job file, and how the memory of its other shapes is found.

    Raises UserError for a job, model or shape that cannot be planned.
    """
    asked = requested(path)
    first = ask_for(wish, asked.job, asked.request, asked.facts, asked.estimate_of)
    return replace(first, memory=plan_cards(asked)), asked.estimate_of

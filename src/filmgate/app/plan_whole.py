"""One plan as one record: what was asked, memory, cards, server, cost and rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from filmgate.app.plan_cards import MemoryPlan
from filmgate.plan.hardware_plan import HardwarePlan, Question, plan_hardware
from filmgate.plan.interval import Interval
from filmgate.plan.memory import MemoryEstimate
from filmgate.plan.memory.levers import Lever
from filmgate.plan.request import PlanRequest
from filmgate.plan.step_time import Rates
from filmgate.plan.upgrade import Upgrade
from filmgate.records import Header

if TYPE_CHECKING:
    from filmgate.catalog import CatalogSummary
    from filmgate.plan.demand import Footage

FRAME_COUNTS = 6
"""Points of the curve of memory over frames."""


class FramesPoint(Interval, frozen=True):
    """Memory at one number of frames; ``low`` and ``high`` are reserved bytes with the context."""

    frames: int
    """Frames of the clip."""


class WholePlan(HardwarePlan, frozen=True, kw_only=True):
    """Everything that a plan tells."""

    header: Header
    """Who made it, and when."""
    job: str
    """Name of the job."""
    title: str
    """The model, as its makers write it, or where it is found."""
    request: PlanRequest
    """What was planned for; what it did not say is in its ``assumed``."""
    estimate: MemoryEstimate
    """Peak memory of one GPU."""
    frames_curve: list[FramesPoint]
    """Memory over frames at the same size; empty where another shape takes a trace."""
    levers: list[Lever]
    """What would lower the peak, the largest saving first; empty on a served page."""
    largest_batch: int | None
    """Clips a pass that the smallest fitting card still holds; None where none fits, for a model of
    your own, and on a served page."""
    upgrades: list[Upgrade]
    """Parts that were asked about, for the machine that was given."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a whole plan is made from."""

    job: str
    question: Question
    upgrades: list[Upgrade] = field(default_factory=list)
    memory: MemoryPlan | None = None
    """Levers and the largest batch; None: not asked for."""


def whole_plan(asked: Asked) -> WholePlan:
    """Memory and hardware together. Raises UserError as ``plan_hardware`` does."""
    question = asked.question
    hardware = plan_hardware(question)
    parts = {name: getattr(hardware, name) for name in hardware.__struct_fields__}
    facts = question.facts
    return WholePlan(
        **parts,
        header=Header(schema="filmgate.plan", schema_version=1),
        job=asked.job,
        title=facts.title if facts is not None else question.request.model,
        request=question.request,
        estimate=question.estimate,
        frames_curve=frames_curve(question),
        levers=asked.memory.levers if asked.memory else [],
        largest_batch=_largest_batch(asked.memory),
        upgrades=asked.upgrades,
    )


def _largest_batch(memory: MemoryPlan | None) -> int | None:
    told = [card.largest_batch for card in memory.cards] if memory else []
    return next((batch for batch in told if batch is not None), None)


def frames_curve(question: Question) -> list[FramesPoint]:
    """Memory from the least to twice the frames, at counts that the model takes."""
    facts, estimate_of = question.facts, question.estimate_of
    if facts is None or estimate_of is None:
        return []
    rule = facts.frames_rule
    most = min(rule.most or 10**9, max(2 * question.request.frames, rule.least + rule.multiple))
    steps = max(1, (most - rule.least) // rule.multiple)
    places = sorted({round(steps * place / (FRAME_COUNTS - 1)) for place in range(FRAME_COUNTS)})
    first = _allowed_from(rule.least, rule.multiple, rule.remainder)
    counts = [first + rule.multiple * place for place in places]
    return [_point(question, frames) for frames in counts if frames <= most]


def _allowed_from(least: int, multiple: int, remainder: int) -> int:
    return least + (remainder - least) % multiple


def _point(question: Question, frames: int) -> FramesPoint:
    assert question.estimate_of is not None
    told = question.estimate_of(replace(question.request, frames=frames))
    return FramesPoint(
        low=float(told.reserved_low_bytes + told.context_low_bytes),
        high=float(told.reserved_high_bytes + told.context_high_bytes),
        frames=frames,
    )


def footage_of(summary: CatalogSummary | None, measured: Measured) -> Footage:
    """What a catalog and measurements tell of the videos."""
    from filmgate.plan.demand import Footage

    speed, told = measured.clips_per_core_second, measured.clips_from
    if summary is None:
        return Footage(clips_per_core_second=speed, clips_from=told)
    width, _, height = next(iter(summary.sizes)).partition("x")
    return Footage(
        size_bytes=summary.size_bytes,
        seconds=summary.hours * 3600,
        num_frames=summary.num_frames,
        source_pixels=int(width) * int(height),
        clips_per_core_second=speed,
        clips_from=told,
    )


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What files of measurements told."""

    rates: Rates | None = None
    """Of the card that was measured."""
    card: str | None = None
    """Its name, as the driver tells it."""
    clips_per_core_second: Interval | None = None
    clips_from: str = ""
    files: tuple[Path, ...] = ()

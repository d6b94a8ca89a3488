"""The plots of a plan: memory per card, the step's budget, cost over hours, frames over memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

from matplotlib.axes import Axes

from filmgate.app.plan_whole import FramesPoint, WholePlan
from filmgate.app.plan_words import seconds_span
from filmgate.app.svg import Drawing, LegendEntry, Plot, colour, make_plot
from filmgate.plan.cost import monthly_usd
from filmgate.plan.hardware import RankedCard
from filmgate.plan.interval import Interval
from filmgate.plan.money import HOURS_IN_MONTH, Way

PARTS = ("weights", "gradients", "optimizer", "activations", "temporaries", "communication")
ROLES = {
    "weights": "forward", "gradients": "backward", "optimizer": "optimizer",
    "activations": "transfer", "temporaries": "save", "communication": "other",
}  # fmt: skip
"""Part of the memory -> its colour on the page."""
CURVE_POINTS = 61
LARGEST_TIMES = 5
"""Cards that are larger than so many times the need stand in the table alone."""
WAYS: tuple[tuple[Way, str, str], ...] = (
    ("own", "own", "delivered"), ("cloud", "cloud, on demand", "supply"),
    ("spot", "spot", "demand"),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Segment:
    """One piece of a bar, in percent of its width."""

    role: str
    name: str
    left: float
    width: float


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One line of a chart of bars."""

    name: str
    note: str
    figure: str
    segments: tuple[Segment, ...]
    span: Segment | None = None
    """An interval that is drawn over the bar."""
    end: float | None = None
    """Where the card ends, in percent; None: nowhere."""


def memory_bars(plan: WholePlan, names: list[str]) -> list[Bar]:
    """A bar for each of the cards: what is allocated, the interval that is reserved, its end."""
    cards = [one for one in plan.cards if one.card in names]
    high = plan.estimate.reserved_high_bytes + plan.estimate.context_high_bytes
    whole = max([high, *(one.memory_bytes for one in cards)]) * 1.02
    return [_memory_bar(plan, one, whole) for one in sorted(cards, key=lambda c: c.memory_bytes)]


def _memory_bar(plan: WholePlan, card: RankedCard, whole: float) -> Bar:
    told, left, segments = plan.estimate, 0.0, []
    for part in PARTS:
        width = 100 * getattr(told.parts, part) / whole
        if width > 0:
            segments.append(Segment(role=ROLES[part], name=part, left=left, width=width))
        left += width
    low = 100 * (told.reserved_low_bytes + told.context_low_bytes) / whole
    high = 100 * (told.reserved_high_bytes + told.context_high_bytes) / whole
    return Bar(
        name=card.card,
        note=card.verdict,
        figure=f"{card.memory_bytes / 2**30:.0f} GiB",
        segments=tuple(segments),
        span=Segment(role="ink", name="reserved", left=low, width=max(0.3, high - low)),
        end=100 * card.memory_bytes / whole,
    )


def step_bars(plan: WholePlan) -> list[Bar]:
    """A bar for each part of a step on the chosen card, from its lower to its upper bound."""
    chosen = next(one for one in plan.cards if one.card == plan.chosen)
    if chosen.step is None:
        return []
    roles = {
        "compute": "forward", "memory bandwidth": "backward", "host link": "transfer",
        "gradient sync": "save", "feed": "data-wait",
    }  # fmt: skip
    whole = max(chosen.step.seconds.high, *(one.seconds.high for one in chosen.step.parts)) * 1.02
    bars = [
        _range_bar(one.name, one.seconds, roles[one.name], one.basis, whole)
        for one in chosen.step.parts
    ]
    step = chosen.step
    return [*bars, _range_bar("the step", step.seconds, "delivered", step.basis, whole)]


def _range_bar(name: str, value: Interval, role: str, basis: str, whole: float) -> Bar:
    low, high = 100 * value.low / whole, 100 * value.high / whole
    return Bar(
        name=name,
        note=basis,
        figure=seconds_span(value),
        segments=(
            Segment(role=role, name="at least", left=0, width=low),
            Segment(role=f"{role} pale", name="at most", left=low, width=max(0.3, high - low)),
        ),
    )


def cost_plot(plan: WholePlan) -> Plot | None:
    """Dollars a month over hours a month; None where no way has a price."""
    parts, cost = plan.cost_parts, plan.cost
    if parts is None or cost is None:
        return None
    hours = [HOURS_IN_MONTH * place / (CURVE_POINTS - 1) for place in range(CURVE_POINTS)]
    curves = {}
    for way, label, role in WAYS:
        values = [monthly_usd(way, hour, parts) for hour in hours]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            curves[label] = (role, known)
    if not curves:
        return None
    top = max(value[-1].middle for _, value in curves.values()) * 1.35

    def draw(axes: Axes) -> None:
        """A band for each way, and a line in its middle."""
        for role, values in curves.values():
            lows, highs = [one.low for one in values], [one.high for one in values]
            axes.fill_between(hours, lows, highs, color=colour(role), alpha=0.18, lw=0)
            axes.plot(hours, [(one.low + one.high) / 2 for one in values], color=colour(role), lw=2)
        axes.axvline(cost.wish.hours_per_month, color=colour("soft"), lw=1, dashes=(2, 2))
        axes.set_ylim(0, top)

    legend = tuple(LegendEntry(label=label, role=role) for label, (role, _) in curves.items())
    drawing = Drawing(
        name="cost", title="Dollars a month over hours a month", steps=(0, HOURS_IN_MONTH),
        x_label="hours of work in a month", y_label="US dollars a month", draw=draw,
    )  # fmt: skip
    caption = f"{cost.break_even_says[:1].upper()}{cost.break_even_says[1:]}. Bands are the bounds "
    caption += f"of the prices; the broken line is at {cost.wish.hours_per_month:g} hours."
    return make_plot(drawing, caption, legend)


def frames_plot(plan: WholePlan, names: list[str]) -> Plot | None:
    """Memory over frames with the cards' sizes; None without a curve."""
    points = plan.frames_curve
    if len(points) < 2:
        return None
    x = [point.frames for point in points]
    lows, highs = [p.low / 2**30 for p in points], [p.high / 2**30 for p in points]
    cards = [one for one in plan.cards if one.card in names]
    sizes = sorted({one.memory_bytes // 2**30 for one in cards})
    shown = [size for size in sizes if size <= 1.6 * highs[-1]] or sizes[:1]

    def draw(axes: Axes) -> None:
        """The band of reserved memory, and a line for each size of card."""
        axes.fill_between(x, lows, highs, color=colour("delivered"), alpha=0.3, lw=0)
        axes.plot(x, highs, color=colour("delivered"), lw=2)
        for size in shown:
            axes.axhline(size, color=colour("soft"), lw=1, dashes=(2, 2))
            axes.annotate(
                f"{size} GiB", (x[0], size), xytext=(4, 3), textcoords="offset points",
                fontsize=11, color=colour("soft"),
            )  # fmt: skip
        here = plan.request.frames
        axes.axvline(here, color=colour("supply"), lw=1.5)
        axes.set_ylim(0, 1.08 * max(highs[-1], shown[-1]))

    drawing = Drawing(
        name="frames", title="GPU memory over frames of a clip", steps=(x[0], x[-1]),
        x_label="frames of a clip", y_label="GiB reserved", draw=draw,
    )  # fmt: skip
    return make_plot(drawing, _say_frames(plan, points), (
        LegendEntry(label="reserved, lowest to highest", role="delivered", shape="area"),
        LegendEntry(label=f"this job, {plan.request.frames} frames", role="supply"),
        LegendEntry(label="sizes of cards", role="soft", dash="2 4"),
    ))  # fmt: skip


def _say_frames(plan: WholePlan, points: list[FramesPoint]) -> str:
    chosen = next(one for one in plan.cards if one.card == plan.chosen)
    fitting = [point.frames for point in points if point.high <= 0.8 * chosen.memory_bytes]
    size = f"{plan.request.height}x{plan.request.width}"
    if not fitting:
        return f"At {size} no number of frames fits {plan.chosen} with a fifth of it free."
    if fitting[-1] == points[-1].frames:
        return f"At {size} all of {points[-1].frames} frames fit {plan.chosen}, a fifth of it free."
    return f"At {size} about {fitting[-1]} frames fit {plan.chosen} with a fifth of it free."


def cards_to_draw(plan: WholePlan, at_most: int = 8) -> list[str]:
    """The chosen card and the best of each other size, those of a size near the need first."""
    need = plan.estimate.reserved_high_bytes + plan.estimate.context_high_bytes
    best: dict[int, RankedCard] = {}
    for one in plan.cards:
        best.setdefault(one.memory_bytes, one)
    chosen = next(one for one in plan.cards if one.card == plan.chosen)
    best.pop(chosen.memory_bytes)
    near = sorted(best.values(), key=lambda one: abs(math.log(one.memory_bytes / need)))
    drawn = [one.card for one in near if one.memory_bytes <= LARGEST_TIMES * need]
    return [plan.chosen, *(drawn or [one.card for one in near])[: at_most - 1]]

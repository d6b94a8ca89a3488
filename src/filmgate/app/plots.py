"""The report's plots: what each shows, and one sentence that says what to see in it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from matplotlib.axes import Axes

from filmgate.app.learning_plots import accuracy_plot, loss_plot
from filmgate.app.series import Series, trend
from filmgate.app.svg import Drawing, LegendEntry, Plot, colour, make_plot, mark_resumes
from filmgate.diagnose import Rates, Verdict
from filmgate.units import format_rate, format_seconds, format_share

STACK = ("forward", "backward", "optimizer", "transfer", "other", "save", "data_wait")
"""Bottom to top: computing is the ground, what could go lies on it."""
MAX_BINS = 120
"""Points a line or area may have; more steps are averaged."""
MAX_RATE_BINS = 40
"""Rates of single steps jump, so they are averaged over more."""
STEADY = 0.1
"""Change of the step time from which the caption mentions it."""
CUT_ABOVE = 1.15
"""Height of the step plot over the longest counted step."""


def all_plots(series: Series, verdict: Verdict, chance: float | None) -> list[Plot]:
    """The plots that the telemetry has data for."""
    makers: list[Plot | None] = [
        step_plot(series, verdict),
        rates_plot(series, verdict.rates),
        queue_plot(series, verdict),
        loss_plot(series),
        accuracy_plot(series, chance),
    ]
    return [plot for plot in makers if plot is not None]


def step_plot(series: Series, verdict: Verdict) -> Plot | None:
    """Where the time of each step went, stacked; None without steps."""
    bins = series.bins(MAX_BINS)
    if not bins:
        return None
    heights = {part: [max(0.0, series.mean_part(part, bin_)) for bin_ in bins] for part in STACK}
    tops = [sum(heights[part][place] for part in STACK) for place in range(len(bins))]
    counted = [series.counted[bin_[0]] for bin_ in bins]
    settled = [top for top, counts in zip(tops, counted, strict=True) if counts]
    ceiling = CUT_ABOVE * max(settled or tops)
    x = _edges(series, bins)

    def draw(axes: Axes) -> None:
        """The parts of a step, stacked."""
        below = [0.0] * len(bins)
        for part in STACK:
            above = [low + height for low, height in zip(below, heights[part], strict=True)]
            axes.fill_between(
                x, [*below, below[-1]], [*above, above[-1]], step="post", color=colour(part), lw=0
            )
            below = above
        for first, last in _pale(counted):
            axes.axvspan(x[first], x[last], color=colour("page"), alpha=0.6, lw=0)
        mark_resumes(axes, series.resumed_after, ceiling)
        axes.set_ylim(0, ceiling or 1.0)

    entries = tuple(
        LegendEntry(label=part.replace("_", " "), role=part, shape="area") for part in STACK
    )
    return make_plot(
        Drawing(
            name="steps",
            title="Seconds per step by part, over the run",
            steps=series.ends,
            y_label="seconds per step",
            draw=draw,
        ),
        _say_steps(series, verdict, max(tops), ceiling),
        entries,
    )


def _pale(counted: Sequence[bool]) -> list[tuple[int, int]]:
    """First bin and the bin after the last of each stretch of bins that do not count."""
    edges = [place for place in range(1, len(counted)) if counted[place] != counted[place - 1]]
    stretches = pairwise([0, *edges, len(counted)])
    return [(first, last) for first, last in stretches if not counted[first]]


def _say_steps(series: Series, verdict: Verdict, tallest: float, ceiling: float) -> str:
    kept = [place for place, counts in enumerate(series.counted) if counts]
    if not kept:
        return "Every step is faded, because none counts: the run was too short."
    first, last = trend([series.step_seconds(place) for place in kept])
    steady = abs(last - first) < STEADY * first
    way = "stays at about" if steady else f"goes from {format_seconds(first)} to"
    wait = next(part.share_of_training for part in verdict.budget if part.name == "data_wait")
    said = (
        f"A step {way} {format_seconds(last)}; {format_share(wait)} of the time is waiting for data"
    )
    if len(kept) < len(series.counted):
        said += "; the faded steps are warm-up and do not count"
    if tallest > ceiling:
        said += f"; the longest, {format_seconds(tallest)}, is cut off"
    return said + "."


def rates_plot(series: Series, rates: Rates) -> Plot | None:
    """Demand, delivered and supply over the run; None without steps."""
    bins, batch = series.bins(MAX_RATE_BINS), series.batch_size
    if not bins or batch is None:
        return None
    bins = [bin_ for bin_ in bins if series.counted[bin_[0]]] or bins
    x = [series.mean_step(bin_) for bin_ in bins]
    delivered, demand = [], []
    for bin_ in bins:
        total = sum(series.step_seconds(place) for place in bin_)
        wait = sum(series.parts["data_wait"][place] for place in bin_)
        delivered.append(_rate(batch * len(bin_), total))
        demand.append(_rate(batch * len(bin_), total - wait))

    def draw(axes: Axes) -> None:
        """Demand, supply and what was delivered."""
        axes.plot(x, demand, color=colour("demand"), dashes=(5, 3), lw=2)
        if series.supply:
            axes.plot(
                series.supply_steps, series.supply, color=colour("supply"), dashes=(1, 1.5), lw=2.5
            )
        axes.plot(x, delivered, color=colour("delivered"), lw=2.5)
        mark_resumes(axes, series.resumed_after, 0.0)
        axes.set_ylim(bottom=0)

    entries = [
        LegendEntry(label="wanted by the trainer", role="demand", dash="7 4"),
        LegendEntry(label="delivered", role="delivered"),
    ]
    if series.supply:
        entries.append(LegendEntry(label="what the feed could give", role="supply", dash="2.5 3.5"))
    return make_plot(
        Drawing(
            name="rates",
            title="Clips per second wanted, delivered and possible, over the run",
            steps=series.ends,
            y_label="clips per second",
            draw=draw,
        ),
        _say_rates(rates),
        tuple(entries),
    )


def _say_rates(rates: Rates) -> str:
    wanted, could = rates.demand_clips_per_second, rates.supply_clips_per_second
    said = f"Over the counted steps the trainer would take {format_rate(wanted, 'clips')} and got "
    said += format_rate(rates.delivered_clips_per_second, "clips")
    if could is None or wanted is None:
        return said + "; what the feed could give is unknown."
    said += f"; the feed could give {format_rate(could, 'clips')}"
    return said + (", which is less than is wanted." if could < wanted else ", which is enough.")


def queue_plot(series: Series, verdict: Verdict) -> Plot | None:
    """Finished batches that lay ready at each step; None without steps or without workers."""
    bins = series.bins(MAX_BINS)
    if not bins or not verdict.num_workers:
        return None
    x = _edges(series, bins)
    fill = [sum(series.queue[place] for place in bin_) / len(bin_) for bin_ in bins]

    def draw(axes: Axes) -> None:
        """Batches that were waiting."""
        axes.fill_between(
            x, [*fill, fill[-1]], step="post", color=colour("supply"), alpha=0.35, lw=0
        )
        axes.step(x, [*fill, fill[-1]], where="post", color=colour("supply"), lw=1.5)
        mark_resumes(axes, series.resumed_after, 0.0)
        axes.set_ylim(0, max(1.0, 1.15 * max(fill)))

    kept = [fill for fill, counts in zip(series.queue, series.counted, strict=True) if counts]
    kept = kept or series.queue
    empty = sum(ready == 0 for ready in kept) / len(kept)
    meaning = (
        "the trainer had to wait for most of them" if empty >= 0.5 else "most were there in time"
    )
    return make_plot(
        Drawing(
            name="queue",
            title="Finished batches ready when the trainer asked, over the run",
            steps=series.ends,
            y_label="batches ready",
            whole_y=True,
            draw=draw,
        ),
        f"A batch lay ready at {format_share(1 - empty)} of the steps; {meaning}.",
        (),
    )


def _edges(series: Series, bins: Sequence[range]) -> list[float]:
    """Left edge of each bin, and the right edge of the last, in steps."""
    return [series.steps[bin_[0]] - 0.5 for bin_ in bins] + [series.steps[bins[-1][-1]] + 0.5]


def _rate(clips: float, seconds: float) -> float:
    return clips / seconds if seconds > 0 else float("nan")

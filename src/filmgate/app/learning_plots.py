"""The plots of what was learnt: loss and held-out accuracy."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from filmgate.app.series import Series, trend
from filmgate.app.svg import Drawing, LegendEntry, Plot, colour, make_plot, mark_resumes
from filmgate.units import format_number

MAX_POINTS = 120
"""Points a line may have; more steps are averaged."""


def loss_plot(series: Series) -> Plot | None:
    """Training loss, and held-out loss where there is one; None without steps."""
    bins = series.bins(MAX_POINTS)
    if not bins:
        return None
    x = [series.mean_step(bin_) for bin_ in bins]
    loss = [sum(series.loss[place] for place in bin_) / len(bin_) for bin_ in bins]
    smooth = _smoothed(loss)

    def draw(axes: Axes) -> None:
        """The loss of each bin, the same smoothed, and the held-out losses."""
        axes.plot(x, loss, color=colour("forward"), alpha=0.35, lw=1)
        axes.plot(x, smooth, color=colour("forward"), lw=2.5)
        if series.evaluations:
            steps = [evaluation.step for evaluation in series.evaluations]
            held_out = [evaluation.loss for evaluation in series.evaluations]
            axes.plot(steps, held_out, "o", color=colour("data_wait"), ms=6, clip_on=False)
        axes.set_ylim(bottom=0)
        mark_resumes(axes, series.resumed_after, axes.get_ylim()[1])

    entries = [LegendEntry(label="training, smoothed", role="forward")]
    if series.evaluations:
        entries.append(LegendEntry(label="held-out clips", role="data_wait", shape="dot"))
    return make_plot(
        Drawing(
            name="loss", title="Loss over the run", steps=series.ends, y_label="loss", draw=draw
        ),
        _say_loss(series),
        tuple(entries),
    )


def _say_loss(series: Series) -> str:
    first, last = trend(series.loss)
    way = "fell" if last < 0.98 * first else "rose" if last > 1.02 * first else "stayed"
    said = f"The training loss {way} from {format_number(first)} to {format_number(last)} "
    said += "(means of the first and the last tenth of the steps)"
    if series.resumed_after:
        places = ", ".join(str(step) for step in series.resumed_after)
        said += f"; the run was resumed after step {places}, marked by a line"
    return said + "."


def accuracy_plot(series: Series, chance: float | None) -> Plot | None:
    """Held-out accuracy over the run; None with fewer than two evaluations."""
    scored = [(one.step, one.accuracy) for one in series.evaluations if one.accuracy is not None]
    if len(scored) < 2:
        return None
    steps = [step for step, _ in scored]
    percent = [100 * accuracy for _, accuracy in scored]

    def draw(axes: Axes) -> None:
        """The held-out accuracy, and chance."""
        axes.plot(steps, percent, "o-", color=colour("delivered"), lw=2.5, ms=6, clip_on=False)
        if chance is not None:
            axes.axhline(100 * chance, color=colour("demand"), dashes=(5, 3), lw=2)
        axes.set_ylim(0, 100)

    entries = [LegendEntry(label="held-out accuracy", role="delivered")]
    said = f"{percent[-1]:.0f} % of the held-out clips are named right at the end"
    if chance is not None:
        entries.append(LegendEntry(label="chance", role="demand", dash="7 4"))
        said += f", where guessing gets {100 * chance:.0f} %"
    return make_plot(
        Drawing(
            name="accuracy",
            title="Held-out accuracy over the run",
            steps=series.ends,
            y_label="percent right",
            draw=draw,
        ),
        said + ".",
        tuple(entries),
    )


def _smoothed(values: Sequence[float]) -> list[float]:
    """Mean over a window of about a tenth of the run, shorter at the ends."""
    half = max(1, len(values) // 20)
    windows = [values[max(0, place - half) : place + half + 1] for place in range(len(values))]
    return [sum(window) / len(window) for window in windows]

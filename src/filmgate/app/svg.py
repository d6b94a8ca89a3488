"""Figures as SVG that lives inside a page: its own ids, the page's colours and the page's font."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import matplotlib as mpl
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

COLOURS = {
    "--ink": "#010101",
    "--soft": "#020202",
    "--rule": "#030303",
    "--page": "#040404",
    "--data-wait": "#050505",
    "--transfer": "#060606",
    "--forward": "#070707",
    "--backward": "#080808",
    "--optimizer": "#090909",
    "--other": "#0a0a0a",
    "--save": "#0b0b0b",
    "--demand": "#0c0c0c",
    "--delivered": "#0d0d0d",
    "--supply": "#0e0e0e",
}
"""The page's CSS variable -> the colour that stands for it while matplotlib draws."""

WIDE, NARROW = (700, 250), (350, 250)
"""Width and height in CSS pixels: for a desk, and for a phone, so that text keeps its size."""

_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 12,
    "axes.edgecolor": COLOURS["--rule"],
    "axes.labelcolor": COLOURS["--soft"],
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": COLOURS["--rule"],
    "grid.linewidth": 1,
    "xtick.color": COLOURS["--soft"],
    "ytick.color": COLOURS["--soft"],
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "text.color": COLOURS["--ink"],
}


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """What to draw, and its labels with units."""

    name: str
    """Prefix of every id inside; unique on the page."""
    title: str
    """What the picture is, for those who hear the page."""
    y_label: str
    """With its unit."""
    steps: tuple[float, float]
    """Left and right end of the horizontal axis, the same for all plots of a run."""
    x_label: str = "step"
    """With its unit, as ``y_label``."""
    whole_x: bool = True
    """Whether only whole numbers make sense on the horizontal axis."""
    whole_y: bool = False
    """Whether only whole numbers make sense on the vertical axis."""
    draw: Callable[[Axes], None]


@dataclass(frozen=True, kw_only=True)
class LegendEntry:
    """One line or area of a plot."""

    label: str
    role: str
    """Colour, by its role on the page."""
    shape: Literal["line", "area", "dot"] = "line"
    """How it is drawn."""
    dash: str = ""
    """As SVG writes it, so that lines differ without colour too; empty: not broken."""


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A plot for a desk and for a phone, and the sentence that says what to see."""

    name: str
    title: str
    caption: str
    legend: tuple[LegendEntry, ...]
    wide: Markup
    narrow: Markup


def colour(role: str) -> str:
    """The stand-in of a role, ``data_wait`` for ``--data-wait``."""
    return COLOURS[f"--{role.replace('_', '-')}"]


def render(drawing: Drawing, size: tuple[int, int], caption: str) -> Markup:
    """One ``<svg>``, the same bytes for the same data.

    matplotlib keeps its settings in one place for the process; they are set for this call alone.
    """
    narrow = size[0] < WIDE[0]
    name = f"{drawing.name}-{'narrow' if narrow else 'wide'}"
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": name}):
        figure = Figure(figsize=(size[0] / 72, size[1] / 72))
        figure.subplots_adjust(**_margins(size))
        axes = figure.add_subplot()
        drawing.draw(axes)
        axes.set_xlim(drawing.steps)
        axes.set_xlabel(drawing.x_label, loc="right")
        axes.set_title(drawing.y_label, loc="left", fontsize=12, color=COLOURS["--soft"])
        axes.xaxis.set_major_locator(_ticks(4 if narrow else 8, whole=drawing.whole_x))
        axes.yaxis.set_major_locator(_ticks(6, whole=drawing.whole_y))
        file = io.BytesIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return _for_the_page(file.getvalue().decode(), name, drawing.title, caption)


def _margins(size: tuple[int, int]) -> dict[str, float]:
    """The same pixels around every plot, so that plots one below the other line up."""
    width, height = size
    return {
        "left": 46 / width,
        "right": 1 - 6 / width,
        "bottom": 44 / height,
        "top": 1 - 26 / height,
    }


def _ticks(at_most: int, *, whole: bool) -> MaxNLocator:
    return MaxNLocator(nbins=at_most, integer=whole, steps=[1, 2, 2.5, 5, 10])


def make_plot(drawing: Drawing, caption: str, legend: tuple[LegendEntry, ...]) -> Plot:
    """Draw it twice: for a desk and for a phone."""
    return Plot(
        name=drawing.name,
        title=drawing.title,
        caption=caption,
        legend=legend,
        wide=render(drawing, WIDE, caption),
        narrow=render(drawing, NARROW, caption),
    )


def mark_resumes(axes: Axes, resumed_after: Sequence[int], top: float) -> None:
    """A line after each of the steps; with its name below ``top`` unless that is 0."""
    for step in resumed_after:
        axes.axvline(step + 0.5, color=colour("soft"), lw=1, dashes=(2, 2))
        if top:
            axes.annotate(
                "resumed",
                (step + 0.5, top),
                xytext=(4, -4),
                textcoords="offset points",
                va="top",
                fontsize=11,
                color=colour("soft"),
            )


def _for_the_page(text: str, name: str, title: str, caption: str) -> Markup:
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = re.sub(r"; font-family:[^;\"]*|font: [0-9.]+px [^;\"]*", _without_family, text)
    for variable, stand_in in COLOURS.items():
        text = text.replace(stand_in, f"var({variable})")
    view = re.search(r'viewBox="[^"]*"', text)
    assert view is not None
    opening = (
        f'<svg class="{name.rsplit("-", 1)[1]}" {view.group()} role="img" '
        f'aria-labelledby="{name}-title {name}-caption">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-caption">{escape(caption)}</desc>'
    )
    text = re.sub(r"<svg[^>]*>", lambda match: opening, text, count=1)
    return Markup(re.sub(r"\s*\n\s*", "\n", text))


def _without_family(match: re.Match[str]) -> str:
    size = re.match(r"font: ([0-9.]+px)", match.group())
    return f"font-size: {size.group(1)}" if size else ""

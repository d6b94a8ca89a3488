"""A plan on one HTML page: the answer, its plots, and every figure with where it comes from."""

from __future__ import annotations

from pathlib import Path

from filmgate import __version__
from filmgate.app.page import page_environment
from filmgate.app.plan_form import Form
from filmgate.app.plan_plots import (
    PARTS,
    ROLES,
    cards_to_draw,
    cost_plot,
    frames_plot,
    memory_bars,
    step_bars,
)
from filmgate.app.plan_whole import WholePlan
from filmgate.app.plan_words import (
    all_assumed,
    card_rows,
    demand_rows,
    figures,
    headline,
    lever_rows,
    seconds_span,
    shape_words,
    span,
    usd,
)
from filmgate.records import write_file
from filmgate.units import format_bytes


def write_plan_page(path: Path, plan: WholePlan) -> None:
    """Write the page, in one step."""
    write_file(path, plan_page(plan).encode(errors="backslashreplace"))


def plan_page(plan: WholePlan, form: Form | None = None) -> str:
    """The whole page as text; with ``form``, the one that is served."""
    return _template("plan.html.jinja", plan, form=form)


def plan_answer(plan: WholePlan) -> str:
    """What of the page changes with the form."""
    return _template("plan_answer.html.jinja", plan, form=None)


def error_page(message: str, hint: str, form: Form) -> str:
    """The page of a request that cannot be planned: the form, and why."""
    environment = page_environment()
    return environment.get_template("plan_error.html.jinja").render(
        message=message, hint=hint, form=form, version=__version__
    )


def _template(name: str, plan: WholePlan, *, form: Form | None) -> str:
    drawn = cards_to_draw(plan)
    environment = page_environment()
    environment.filters |= {"span": span, "time": seconds_span, "usd": usd}
    chosen = next(one for one in plan.cards if one.card == plan.chosen)
    return environment.get_template(name).render(
        plan=plan,
        form=form,
        headline=headline(plan),
        shape=shape_words(plan.request),
        figures=figures(plan),
        chosen=chosen,
        parts=[(part, ROLES[part]) for part in PARTS if getattr(plan.estimate.parts, part) > 0],
        part_sizes={part: format_bytes(getattr(plan.estimate.parts, part)) for part in PARTS},
        memory=memory_bars(plan, drawn),
        steps=step_bars(plan),
        cost=cost_plot(plan),
        frames=frames_plot(plan, drawn),
        cards=card_rows(plan),
        levers=lever_rows(plan),
        demand=demand_rows(plan),
        assumed=all_assumed(plan),
        version=__version__,
    )

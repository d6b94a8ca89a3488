"""What `filmgate plan` prints for a person."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table
from rich.text import Text

from filmgate.app.output import print_text
from filmgate.app.plan_whole import WholePlan
from filmgate.app.plan_words import (
    CARD_COLUMNS,
    all_assumed,
    card_rows,
    demand_rows,
    figures,
    headline,
    lever_rows,
    shape_words,
    usd,
)
from filmgate.app.show import print_rows, print_table
from filmgate.plan.rules import RuleLine

MOST_CARDS = 8
"""Lines of the table of cards; the page and --json have all of them."""
STYLES = {"fits": "green", "cannot say": "yellow", "does not fit": "red"}


def show_plan(plan: WholePlan, page: Path | None, *, quiet: bool = False) -> None:
    """The answer, the cards, what feeds them, the server, the cost, the rules."""
    print_text(f"{headline(plan)}\n{shape_words(plan.request)}\n\n")
    print_rows([(name, f"{said} ({note})" if note else said) for name, said, note in figures(plan)])
    print_text("\n")
    _show_cards(plan)
    _show_rows("what would lower the peak", lever_rows(plan))
    _show_rows("what feeds it", demand_rows(plan))
    if plan.server is not None:
        many = f"{plan.server.num_machines} servers" if plan.server.num_machines > 1 else "server"
        _show_rows(many, [(line.check, f"{line.has}; {line.why}") for line in plan.server.lines])
    _show_rows("cost", _cost_rows(plan))
    for upgrade in plan.upgrades:
        rows = [(f"{fit.status}: {fit.aspect}", fit.says) for fit in upgrade.fits]
        rows.append(("next limit", upgrade.next_limit))
        _show_rows(f"{upgrade.part} in {upgrade.machine}", rows)
    _show_rows("rules of thumb, for this job", [_rule(rule) for rule in plan.rules])
    _show_rows("mind", [("", warning) for warning in plan.warnings])
    assumed = [] if quiet else all_assumed(plan)
    _show_rows("assumed", [(f"{one.name}: {one.value}", one.source) for one in assumed])
    if plan.stale:
        old = ", ".join(f"{one.thing} {one.figure} of {one.date}" for one in plan.stale)
        print_text(f"\nold prices: {old}; replace them with --cards or --prices\n")
    if page is not None:
        print_text(f"\npage: {page}\n")


def _show_cards(plan: WholePlan) -> None:
    table = Table(box=None, pad_edge=False)
    for place, column in enumerate(CARD_COLUMNS):
        table.add_column(column, justify="left" if place in (0, 2, 6) else "right")
    for one, cells in card_rows(plan)[:MOST_CARDS]:
        words = [Text(cell) for cell in cells]
        words[2].stylize(STYLES[one.verdict])
        table.add_row(*words)
    print_table(table)
    more = len(plan.cards) - MOST_CARDS
    if more > 0:
        print_text(f"and {more} more in --json and on the page\n")


def _show_rows(title: str, rows: list[tuple[str, str]]) -> None:
    if rows:
        print_text(f"\n{title}\n")
        print_rows([(f"  {name}", said) for name, said in rows])


def _rule(rule: RuleLine) -> tuple[str, str]:
    holds = {True: " It holds.", False: " It does not hold.", None: ""}[rule.holds]
    return rule.name, f"{rule.rule}: {rule.here}.{holds}"


def _cost_rows(plan: WholePlan) -> list[tuple[str, str]]:
    cost = plan.cost
    if cost is None:
        return []
    rows: list[tuple[str, str]] = []
    for way in cost.ways:
        if way.usd_per_month is None or not way.allowed:
            rows.append((way.way, f"{'no' if not way.allowed else 'unknown'}: {way.why}"))
        else:
            rows.append((way.way, f"{usd(way.usd_per_month)} a month"))
    rows.append(("break-even", cost.break_even_says))
    return rows + [("forced", said) for said in cost.forced]

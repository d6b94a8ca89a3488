"""Tables of figures that other people found: one figure a row, with unit, source and date.

A row is ``thing,figure,low,high,unit,source,date``. ``high`` is empty where a figure is one number.
What is unknown has no row. A user's file stands above the table that filmgate carries, figure by
figure, and may add things.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from filmgate.errors import UserError
from filmgate.plan.interval import Interval
from filmgate.records import Record
from filmgate.records.csv_file import csv_rows, fault

COLUMNS = ("thing", "figure", "low", "high", "unit", "source", "date")
WORDS, YES_NO = "word", "yes/no"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What a figure of one name may be."""

    unit: str
    """As the table has it."""
    least: float = 0.0
    """What lies below it is a mistake, most often of the unit."""
    most: float = math.inf
    """What lies above it likewise."""
    scale: float = 1.0
    """From the table's unit to the unit that filmgate computes with."""
    ages: bool = False
    """Whether it changes with the market, so that an old figure is stale."""


class Figure(Record, frozen=True):
    """One figure of a table."""

    thing: str
    """What it is a figure of."""
    figure: str
    """Name of the figure."""
    value: Interval | None
    """In the unit that filmgate computes with; None for words."""
    word: str
    """The text, where the figure is one; empty otherwise."""
    source: str
    """Who says so."""
    date: str
    """When that was so, or was read: ``2026-11-30``."""
    ages: bool
    """Whether it changes with the market."""


Figures = dict[str, dict[str, Figure]]
"""Thing -> name of the figure -> figure."""


def read_table(path: Path, kinds: Mapping[str, Kind], over: Path | None = None) -> Figures:
    """The table, with what ``over`` says in place of it.

    Raises UserError for a file that is no such table, with its line: an unknown figure, another
    unit, a number out of bounds, no source, no date.
    """
    table: Figures = {}
    for file in (path, over) if over is not None else (path,):
        told: set[tuple[str, str]] = set()
        for line, row in csv_rows(file, COLUMNS, hint="name a CSV file of figures"):
            figure = _figure(file, line, row, kinds)
            key = (figure.thing, figure.figure)
            if key in told:
                raise fault(file, line, f"{key[1]} of {key[0]} stands there twice", "remove one")
            told.add(key)
            table.setdefault(figure.thing, {})[figure.figure] = figure
    return table


def find_thing(table: Mapping[str, object], name: str, *, what: str, hint: str) -> str:
    """The thing of that name, whatever its case. Raises UserError that names the nearest ones."""
    by_word = {_bare(thing): thing for thing in table}
    if _bare(name) in by_word:
        return by_word[_bare(name)]
    near = [thing for word, thing in by_word.items() if _bare(name) in word]
    if len(near) == 1:
        return near[0]
    near = near or [by_word[word] for word in difflib.get_close_matches(_bare(name), by_word, n=4)]
    allowed = f"near it: {', '.join(near)}" if near else f"there are: {', '.join(table)}"
    raise UserError(f"no {what} {name!r}; {allowed}", hint=hint)


def stale(figures: list[Figure], today: date, *, after_days: int) -> list[Figure]:
    """Figures of the market that are older than that many days, oldest first."""
    aged = [one for one in figures if one.ages and _days(one.date, today) > after_days]
    return sorted(aged, key=lambda one: (one.date, one.thing, one.figure))


def _days(day: str, today: date) -> int:
    return (today - date.fromisoformat(day)).days


def _bare(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def _figure(
    file: Path, line: int, row: Mapping[str, str | None], kinds: Mapping[str, Kind]
) -> Figure:
    cells = {name: (row.get(name) or "").strip() for name in COLUMNS}
    kind = kinds.get(cells["figure"])
    if kind is None:
        allowed = f"one of {', '.join(kinds)}"
        raise fault(file, line, f"no figure is called {cells['figure']!r}", allowed)
    for name in ("thing", "low", "source", "date"):
        if not cells[name]:
            raise fault(file, line, f"{name} is empty", "leave the row out where it is unknown")
    if cells["unit"] != kind.unit:
        found = f"{cells['figure']} is in {cells['unit'] or 'no unit'}, but its unit is {kind.unit}"
        raise fault(file, line, found, f"write it in {kind.unit}")
    try:
        date.fromisoformat(cells["date"])
    except ValueError:
        raise fault(file, line, f"{cells['date']!r} is no date", "write 2026-11-30") from None
    return Figure(
        thing=cells["thing"],
        figure=cells["figure"],
        value=None if kind.unit == WORDS else _value(file, line, cells, kind),
        word=cells["low"] if kind.unit == WORDS else "",
        source=cells["source"],
        date=cells["date"],
        ages=kind.ages,
    )


def _value(file: Path, line: int, cells: Mapping[str, str], kind: Kind) -> Interval:
    if kind.unit == YES_NO:
        if cells["low"] not in ("yes", "no"):
            raise fault(file, line, f"{cells['figure']} is {cells['low']!r}", "write yes or no")
        return Interval(low=float(cells["low"] == "yes"), high=float(cells["low"] == "yes"))
    try:
        low = float(cells["low"])
        high = float(cells["high"] or cells["low"])
    except ValueError:
        found = f"{cells['figure']} is {cells['low']!r} to {cells['high']!r}"
        raise fault(file, line, found, "write numbers, with a point") from None
    if not (kind.least <= low <= high <= kind.most):
        found = f"{cells['figure']} is {low:g} to {high:g} {kind.unit}"
        bounds = f"it lies from {kind.least:g} to {kind.most:g} {kind.unit}, the lower bound first"
        raise fault(file, line, found, f"{bounds}; is the unit right?")
    return Interval(low=low * kind.scale, high=high * kind.scale)

"""What a check is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType

from benchmarks.acceptance.place import Place


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a check found."""

    figure: str
    """The number with its unit, or what was seen; the reason where nothing was measured."""
    holds: bool | None
    """None where it could not be measured here."""
    details: tuple[str, ...] = ()
    """One line each: spread, caveats, and every single thing that missed the bar."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One line of what filmgate promises."""

    name: str
    """For ONLY=name: lower case, dashes."""
    topic: str
    """What it belongs to."""
    line: str
    """The promise, as a sentence."""
    bar: str
    """What has to be reached."""
    measure: Callable[[Place], Outcome]


def check(
    *, name: str, topic: str, line: str, bar: str
) -> Callable[[Callable[[Place], Outcome]], Check]:
    """Make a function a check: it gets a place to work in and returns what it found."""

    def make(measure: Callable[[Place], Outcome]) -> Check:
        return Check(name=name, topic=topic, line=line, bar=bar, measure=measure)

    return make


def checks_of(modules: Iterable[ModuleType]) -> list[Check]:
    """All checks of the modules, in the order in which they are written."""
    return [
        value for module in modules for value in vars(module).values() if isinstance(value, Check)
    ]


def not_measured(reason: str) -> Outcome:
    """For a check that this machine has no means for."""
    return Outcome(figure=f"not measured: {reason}", holds=None)


def all_hold(misses: Iterable[str], *, of: int, what: str) -> Outcome:
    """The outcome of many cases: ``45 of 46 files``; holds when nothing missed."""
    missed = tuple(misses)
    return Outcome(figure=f"{of - len(missed)} of {of} {what}", holds=not missed, details=missed)

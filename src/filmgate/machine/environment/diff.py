"""Two environments held against each other, difference by difference."""

from __future__ import annotations

from collections.abc import Iterator

from filmgate.machine.environment.facts import Environment, Fact, Package, Probe
from filmgate.machine.environment.grades import GRADES, Grade, worst
from filmgate.machine.environment.package_rules import judge_package
from filmgate.machine.environment.rules import judge_fact, rule_of
from filmgate.records import Header, Record

PACKAGE = "package."
PROBE = "probe."
ROUNDING = 1e-4
"""Relative difference of two losses that rounding explains."""


class Difference(Record, frozen=True):
    """One thing that is not the same in both."""

    name: str
    """Of the fact; ``package.NAME`` or ``probe.NAME``."""
    grade: Grade
    """What it can do."""
    here: str | None
    """In the first; null where it is not known."""
    there: str | None
    """In the second; null where it is not known."""
    why: str
    """Why it has this grade."""


class EnvironmentDiff(Record, frozen=True):
    """What ``filmgate env diff`` found."""

    header: Header
    """Its inputs are the digests of both locks."""
    grade: Grade
    """The worst of all differences."""
    differences: list[Difference]
    """The worst first."""
    num_identical: int
    """Facts, packages and probes that are the same."""
    not_compared: list[str]
    """What neither of them knows, with the reason."""
    probe_says: str
    """Whether the golden probe found the two computing alike."""


def compare_environments(a: Environment, b: Environment) -> EnvironmentDiff:
    """Every difference from ``a`` to ``b``, graded.

    A fact that only one of them knows counts as changed. A fact that only one of them records (they
    were written by different versions of filmgate) counts as not compared.
    """
    facts, unknown = _facts(a, b)
    probes, probe_says = _probes(a, b)
    found = [*facts, *_packages(a, b), *probes]
    found.sort(key=lambda one: (-GRADES.index(one.grade), one.name))
    shared = {fact.name for fact in a.facts} & {fact.name for fact in b.facts}
    packages = {one.name for one in a.packages} | {one.name for one in b.packages}
    shared_probes = {one.name for one in a.probes} & {one.name for one in b.probes}
    compared = len(shared) + len(packages) + len(shared_probes)
    return EnvironmentDiff(
        header=Header(
            schema="filmgate.environment-diff", schema_version=1,
            inputs={"a": digest_of(a), "b": digest_of(b)},
        ),
        grade=worst(one.grade for one in found),
        differences=found,
        num_identical=compared - len(found) - len(unknown) + _num_one_sided(a, b),
        not_compared=unknown,
        probe_says=probe_says,
    )  # fmt: skip


def digest_of(environment: Environment) -> str:
    """Over everything but the header: the same environment has the same digest at any time."""
    return environment.header.inputs.get("environment", "unknown")


def _num_one_sided(a: Environment, b: Environment) -> int:
    """Facts that stand among the unknown because only one lock has them."""
    return len({fact.name for fact in a.facts} ^ {fact.name for fact in b.facts})


def _facts(a: Environment, b: Environment) -> tuple[list[Difference], list[str]]:
    found, unknown = [], []
    there = {fact.name: fact for fact in b.facts}
    here = {fact.name: fact for fact in a.facts}
    for name in sorted(here | there):
        if name not in here or name not in there:
            unknown.append(f"{name}: only in the {'first' if name in here else 'second'} lock")
        elif here[name].value is None and there[name].value is None:
            unknown.append(f"{name}: {here[name].why_unknown}")
        elif here[name].value != there[name].value:
            found.append(_fact(here[name], there[name], a, b))
    return found, unknown


def _fact(here: Fact, there: Fact, a: Environment, b: Environment) -> Difference:
    if here.value is None or there.value is None:
        rule = rule_of(here.name)
        side = "first" if here.value is None else "second"
        reason = here.why_unknown or there.why_unknown
        grade, why = rule.grade, f"unknown in the {side} ({reason}); {rule.why}"
    else:
        grade, why = judge_fact(here.name, here.value, there.value, a, b)
    return Difference(name=here.name, grade=grade, here=here.value, there=there.value, why=why)


def _packages(a: Environment, b: Environment) -> Iterator[Difference]:
    here = {package.name: package for package in a.packages}
    there = {package.name: package for package in b.packages}
    for name in sorted(here | there):
        one, other = here.get(name), there.get(name)
        judged = judge_package(one, other)
        if judged is not None:
            same = one is not None and other is not None and one.version == other.version
            yield Difference(
                name=PACKAGE + name, grade=judged[0], here=_shown(one, with_build=same),
                there=_shown(other, with_build=same), why=judged[1],
            )  # fmt: skip


def _shown(package: Package | None, *, with_build: bool) -> str:
    if package is None:
        return "none"
    if not with_build:
        return package.version
    altered = f", {package.num_altered} files altered" if package.num_altered else ""
    return f"{package.version} {(package.digest or 'no digest')[:19]}{altered}"


def _probes(a: Environment, b: Environment) -> tuple[list[Difference], str]:
    here = {probe.name: probe for probe in a.probes}
    there = {probe.name: probe for probe in b.probes}
    both = [name for name in sorted(here) if name in there]
    compared = [name for name in both if here[name].value and there[name].value]
    found = [
        _probe(here[name], there[name]) for name in both if here[name].value != there[name].value
    ]
    if not compared:
        return found, "not compared: not both locks hold a golden probe"
    changed = [one.name.removeprefix(PROBE) for one in found]
    if changed:
        return found, f"the two compute differently: {', '.join(changed)}"
    return found, f"all {len(compared)} golden probes agree to the last bit"


def _probe(here: Probe, there: Probe) -> Difference:
    return Difference(
        name=PROBE + here.name, grade="results" if here.value and there.value else "breaks",
        here=here.value, there=there.value, why=_why(here, there),
    )  # fmt: skip


def _why(here: Probe, there: Probe) -> str:
    if not here.value or not there.value:
        return f"it could not be done: {here.why_unknown or there.why_unknown}"
    if here.name.startswith("step."):
        return _how_far(here.value, there.value)
    if here.expected is not None:
        wrong = "second" if here.expected == here.value else "first"
        return f"the {wrong}'s frames are not those that the standard demands"
    return "the same bytes give other pixels: the decoder or the scaler is another"


def _how_far(here: str, there: str) -> str:
    pairs = zip(here.split(), there.split(), strict=False)
    losses = [(float.fromhex(x), float.fromhex(y)) for x, y in pairs]
    far = max((abs(x - y) / max(abs(x), 1e-30) for x, y in losses), default=float("inf"))
    kind = "as rounding does" if far < ROUNDING else "more than rounding explains"
    return f"the losses of a fixed training step differ by {far:.1e} of their value, {kind}"

"""Whether two baselines differ in one named thing only."""

from __future__ import annotations

import fnmatch

from filmgate.machine.baseline.record import Baseline
from filmgate.machine.environment.diff import PACKAGE, compare_environments
from filmgate.machine.environment.facts import Environment
from filmgate.records import Record

FOLLOWS = {
    "package.torch": ("torch.*", "package.nvidia-*", "package.triton*", "package.cuda-*",
                      "probe.*"),
    "package.av": ("ffmpeg.*", "decoder.*", "probe.*"),
    "package.filmgate": ("filmgate.*", "probe.*"),
    "filmgate": ("package.filmgate", "probe.*"),
    "cpu.cores": ("torch.threads", "threads", "probe.*"),
    "threads": ("torch.threads",),
    "variable.OMP_NUM_THREADS": ("torch.threads", "probe.*"),
    "device": ("threads", "torch.threads"),
    "nvidia": ("probe.step.cuda",),
    "machine": ("cpu.*", "gpu.*", "memory.*", "nvidia.*", "os.*", "torch.cpu_capability",
                "torch.threads", "threads", "device", "container.*", "probe.*"),
}  # fmt: skip
"""What changes by itself when the named thing is changed."""


Pair = tuple[str, str | None, str | None]
"""Name, before, after."""


class Unlike(Record, frozen=True):
    """One thing in which two baselines differ."""

    name: str
    """Of the workload's field, fact, package or probe."""
    before: str | None
    """In the first."""
    after: str | None
    """In the second."""
    is_named: bool
    """Whether it is, or follows from, what was named as changed."""


def unlike(before: Baseline, after: Baseline, changed: str | None) -> list[Unlike]:
    """Every difference that may change times; what is cosmetic is left out."""
    environments = unlike_environments(before.environment, after.environment)
    # The user's folder is what runs only where the job is the user's own.
    counted = [
        one for one in environments
        if not one[0].startswith("git.") or before.workload.job == "command"
    ]  # fmt: skip
    return named_unlike([*unlike_settings(before.workload, after.workload), *counted], changed)


def unlike_settings(before: Record, after: Record) -> list[Pair]:
    """Fields in which two records of one kind differ."""
    pairs = [
        (name, _text(getattr(before, name)), _text(getattr(after, name)))
        for name in before.__struct_fields__
    ]
    return [pair for pair in pairs if pair[1] != pair[2]]


def unlike_environments(before: Environment, after: Environment) -> list[Pair]:
    """Everything that is more than cosmetic."""
    differences = compare_environments(before, after).differences
    return [(one.name, one.here, one.there) for one in differences if one.grade != "cosmetic"]


def named_unlike(pairs: list[Pair], changed: str | None) -> list[Unlike]:
    """The pairs, each with whether it is, or follows from, what was named as changed."""
    return [
        Unlike(name=name, before=one, after=other, is_named=belongs(name, changed))
        for name, one, other in pairs
    ]


def belongs(name: str, changed: str | None) -> bool:
    """Whether ``name`` is the changed thing, lies in its area, or follows from it.

    A package may be named without ``package.`` in front.
    """
    if changed is None:
        return False
    for thing in (changed, PACKAGE + changed):
        if name == thing or name.startswith(f"{thing}."):
            return True
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in FOLLOWS.get(thing, ())):
            return True
    return False


def _text(value: object) -> str | None:
    return None if value is None else str(value)

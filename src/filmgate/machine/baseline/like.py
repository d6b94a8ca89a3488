"""Whether two baselines differ in one named thing only."""

from __future__ import annotations

import fnmatch

from filmgate.machine.baseline.record import Baseline, Workload
from filmgate.machine.environment.diff import PACKAGE, compare_environments
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
    pairs = [
        (name, _text(getattr(before.workload, name)), _text(getattr(after.workload, name)))
        for name in Workload.__struct_fields__
    ]
    diff = compare_environments(before.environment, after.environment)
    pairs += [
        (one.name, one.here, one.there)
        for one in diff.differences
        if one.grade != "cosmetic" and _counts(one.name, before.workload)
    ]
    return [
        Unlike(name=name, before=one, after=other, is_named=belongs(name, changed))
        for name, one, other in pairs
        if one != other
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


def _counts(name: str, workload: Workload) -> bool:
    """The user's folder is what runs only where the job is the user's own."""
    return not name.startswith("git.") or workload.job == "command"


def _text(value: object) -> str | None:
    return None if value is None else str(value)

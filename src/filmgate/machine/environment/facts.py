"""What an environment is made of, as records that hold no secret and name no machine."""

from __future__ import annotations

from collections.abc import Callable

from filmgate.records import Header, Record

NONE = "none"
"""Value of a fact that is known to be absent: no driver, no container, a variable not set."""


class Fact(Record, frozen=True):
    """One thing that is so."""

    name: str
    """``area.thing``, for example ``nvidia.driver`` or ``variable.OMP_NUM_THREADS``."""
    value: str | None
    """``none`` where it is known to be absent; null where it is not known."""
    why_unknown: str | None = None
    """Why there is no value."""


class Package(Record, frozen=True, kw_only=True):
    """One installed Python distribution."""

    name: str
    """Lower case, with dashes."""
    version: str
    """As its metadata says."""
    digest: str | None
    """Over the names and hashes of its files; the same wheel has the same on every machine."""
    why_no_digest: str | None = None
    """Why there is none."""
    is_needed: bool
    """Whether filmgate, or a package that the user named, needs it."""
    altered: list[str] = []
    """Files that are not as they were installed; at most 20."""
    num_altered: int = 0
    """How many there are of them."""


class Probe(Record, frozen=True, kw_only=True):
    """What a fixed little piece of work came to: versions alone do not tell."""

    name: str
    """What was done: ``frames.h264``, ``rgb.h264``, ``step.cpu``."""
    value: str | None
    """Digest of the pixels, or losses as hexadecimal floats; null where it could not be done."""
    expected: str | None = None
    """What every right decoder gives; null where software may differ in the last bit."""
    why_unknown: str | None = None
    """Why there is no value."""


class Environment(Record, frozen=True):
    """What ``filmgate env lock`` wrote: one lock for this machine and for the cloud."""

    header: Header
    """Its inputs are the digests of facts, packages and probes."""
    facts: list[Fact]
    """By name."""
    packages: list[Package]
    """By name."""
    probes: list[Probe]
    """By name; empty where the probe was left out."""
    uses: list[str] = []
    """Packages that the user named, because code of theirs imports them."""

    def value(self, name: str) -> str | None:
        """Of a fact; None where it is not known or not recorded."""
        return next((fact.value for fact in self.facts if fact.name == name), None)

    def package(self, name: str) -> Package | None:
        """The installed package; None where there is none."""
        return next((package for package in self.packages if package.name == name), None)


def fact_of(name: str, read: Callable[[], str | None], missing: str) -> Fact:
    """The fact that ``read`` gives; unknown, for the reason ``missing``, where it gives none.

    An OSError is a reason of its own.
    """
    try:
        value = read()
    except OSError as error:
        return Fact(name=name, value=None, why_unknown=error.strerror or type(error).__name__)
    return Fact(name=name, value=value, why_unknown=None if value is not None else missing)

"""Put an environment together from what was found, and look at what is wrong with it by itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from filmgate.machine.environment.facts import Environment, Fact, Package, Probe
from filmgate.machine.environment.ffmpeg import ffmpeg_facts
from filmgate.machine.environment.golden import decoder_facts, frame_probes
from filmgate.machine.environment.host import host_facts
from filmgate.machine.environment.packages import installed_packages
from filmgate.machine.environment.variables import variable_facts
from filmgate.records import Header, digest_bytes

SCHEMA_VERSION = 1


def capture_environment(
    more_facts: Iterable[Fact],
    more_probes: Iterable[Probe],
    *,
    uses: Iterable[str] = (),
    container_digest: str | None = None,
    folder: Path | None = None,
    probe: bool = True,
    deep: bool = False,
) -> Environment:
    """This environment as it is now; ``more_...`` are those of libraries that are not known here.

    ``uses`` are packages that the user's code imports, ``folder`` is where that code lies, none:
    here.
    """
    facts = [
        *host_facts(container_digest=container_digest, folder=folder),
        *ffmpeg_facts(), *decoder_facts(), *variable_facts(), *more_facts,
    ]  # fmt: skip
    probes = [*frame_probes(), *more_probes] if probe else []
    return make_environment(facts, installed_packages(uses, deep=deep), probes, uses=uses)


def make_environment(
    facts: Iterable[Fact],
    packages: Iterable[Package],
    probes: Iterable[Probe],
    *,
    uses: Iterable[str] = (),
) -> Environment:
    """The record, in order, with its own digest."""
    parts = (
        sorted(facts, key=lambda one: one.name),
        sorted(packages, key=lambda one: one.name),
        sorted(probes, key=lambda one: one.name),
    )
    digest = digest_bytes(msgspec.json.encode(parts))
    header = Header(
        schema="filmgate.environment", schema_version=SCHEMA_VERSION, inputs={"environment": digest}
    )
    return Environment(
        header=header, facts=parts[0], packages=parts[1], probes=parts[2], uses=sorted(uses)
    )


def faults_of(environment: Environment) -> list[str]:
    """What is wrong without a second environment to compare with, a sentence each."""
    faults = [
        f"{probe.name}: {probe.why_unknown or 'not the frames that the standard demands'}"
        for probe in environment.probes
        if probe.expected is not None and probe.value != probe.expected
    ]
    return faults + [
        f"{package.name} {package.version}: {package.num_altered} files are not as they were "
        f"installed, such as {package.altered[0]}"
        for package in environment.packages
        if package.altered
    ]

"""``filmgate bench``: parts measured one after another, put together as the machine's figures."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from msgspec.structs import replace

from filmgate.app.terminal import JobProgress, Talk
from filmgate.bench.ask import Ask, Tell
from filmgate.machine import Machine, open_machine
from filmgate.machine.baseline.clock import busy_seconds
from filmgate.machine.measured import (
    PARTS,
    BenchPart,
    MachineMeasured,
    PartName,
    identity_of,
    refuse_other_machine,
)
from filmgate.records import Header, read_record
from filmgate.units import format_share

TOOLS = ("torch", "av", "numpy", "torchcodec")
"""Packages whose version a figure may depend on."""
EXPECTED_SECONDS: dict[PartName, tuple[float, float]] = {
    "storage": (300, 60), "decode": (240, 45), "memory": (60, 15), "precision": (120, 25),
    "sync": (60, 15), "feed": (40, 15),
}  # fmt: skip
"""About how long a part takes, and with ``--quick``; for the estimate of the time left."""
DEADLINE_TIMES = 20
"""How many times as long as expected a part may take before it is given up."""
TICK_SECONDS = 0.5
END_SECONDS = 30
"""What a process gets to remove what it laid out."""
MANY_OTHERS = 0.1
"""Share of the cores that others use from which on figures are doubted."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """How a child of ``bench all`` is started again: the words after ``filmgate bench PART``."""

    words: dict[PartName, tuple[str, ...]]
    """Part -> its own arguments."""


def measure_part(name: PartName, ask: Ask, talk: Talk) -> MachineMeasured:
    """One part measured in this process. Raises what the part raises for what it cannot use."""
    measure: Callable[[Ask, Tell], BenchPart] = getattr(
        import_module(f"filmgate.bench.{name}"), f"bench_{name}"
    )
    start, busy, own = time.monotonic(), busy_seconds(), _own_seconds()
    with talk.job(f"bench {name}", "rounds") as progress:
        part = measure(ask, progress)
    seconds = time.monotonic() - start
    others = max(0.0, busy_seconds() - busy - (_own_seconds() - own))
    others /= seconds * (os.cpu_count() or 1)
    part = _beside_others(replace(part, seconds=seconds), min(1.0, others))
    return machine_measured([part], quick=ask.quick)


def _own_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def _beside_others(part: BenchPart, share: float) -> BenchPart:
    """The part with what other programs did meanwhile."""
    facts = part.facts | {"other programs": f"{format_share(share)} of the cores meanwhile"}
    if part.status != "measured" or share < MANY_OTHERS:
        return replace(part, facts=facts)
    note = "other programs kept much of the machine busy meanwhile: measure again when it is quiet"
    return replace(part, facts=facts, says=[*part.says, note])


def machine_measured(parts: Sequence[BenchPart], *, quick: bool) -> MachineMeasured:
    """The parts with the machine that they were measured on."""
    return MachineMeasured(
        header=Header(schema="filmgate.bench", schema_version=1),
        identity=identity_of(open_machine(None), _versions()),
        is_quick=quick,
        parts=sorted(parts, key=lambda part: PARTS.index(part.name)),
    )


def read_bench(path: Path, machine: Machine) -> MachineMeasured:
    """What a bench of that machine found. Raises UserError for another's, and for no bench."""
    record = read_record(path, MachineMeasured)
    refuse_other_machine(record, machine, path)
    return record


def measure_all(given: Given, talk: Talk, *, quick: bool) -> MachineMeasured:
    """Every part in a process of its own, so that one that dies takes no other with it."""
    order = [name for name in PARTS if name in given.words]
    total = sum(_expected(name, quick=quick) for name in order)
    parts, done = [], 0.0
    with talk.job("bench all", "s expected") as progress:
        for name in order:
            talk.note(f"bench {name}")
            parts.append(_measured_apart(name, given.words[name], quick, (done, total), progress))
            done += _expected(name, quick=quick)
        progress(round(total), round(total))
    return machine_measured(parts, quick=quick)


def command_of(name: PartName, words: Sequence[str]) -> list[str]:
    """How the process of a part is started."""
    return [sys.executable, "-m", "filmgate", "bench", name, *words]


def _expected(name: PartName, *, quick: bool) -> float:
    return EXPECTED_SECONDS[name][1 if quick else 0]


def _measured_apart(
    name: PartName,
    words: Sequence[str],
    quick: bool,
    place: tuple[float, float],
    progress: JobProgress,
) -> BenchPart:
    """The part as its own process told it; ``could not measure`` with the reason otherwise."""
    expected, start = _expected(name, quick=quick), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="filmgate-bench-") as folder:
        out, talk = Path(folder) / "part.json", Path(folder) / "talk.txt"
        command = command_of(name, words)
        command += ["--quiet", "--out", str(out), *(["--quick"] if quick else [])]
        with talk.open("wb") as stderr:
            # A session of its own, so that all that it started can be ended with it.
            child = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=stderr, start_new_session=True
            )
            try:
                why = _wait(child, expected, place, progress, name)
            finally:
                _end(child)
        if why is None and child.returncode == 0:
            found = read_record(out, MachineMeasured).part(name)
            assert found is not None
            return found
        why = why or _why(child.returncode, talk.read_text(errors="backslashreplace"))
    return BenchPart(
        name=name, status="could not measure", why=why, seconds=time.monotonic() - start
    )


def _wait(
    child: subprocess.Popen[bytes],
    expected: float,
    place: tuple[float, float],
    progress: JobProgress,
    name: str,
) -> str | None:
    """Wait for the child's end; why it was given up, or None."""
    start = time.monotonic()
    while True:
        elapsed = time.monotonic() - start
        if elapsed > expected * DEADLINE_TIMES:
            return f"it had not ended after {elapsed:.0f} s"
        progress(round(place[0] + min(elapsed, expected)), round(place[1]), name)
        try:
            child.wait(TICK_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        return None


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ask a process to clean up and end, then end what is left of its session."""
    if child.poll() is None:
        child.terminate()
        with suppress(subprocess.TimeoutExpired):
            child.wait(END_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _why(code: int, talk: str) -> str:
    """The last thing that a child said, or how it ended."""
    lines = [line.strip() for line in talk.splitlines() if line.strip()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    if errors:
        return errors[-1]
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return f"its process ended with {how}" + (f": {lines[-1]}" if lines else "")


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in TOOLS:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found

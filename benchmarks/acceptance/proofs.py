"""Tests as proof: a promise, the tests that would fail if it were broken, and how they went."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from benchmarks.acceptance.check import Check, Outcome
from benchmarks.acceptance.place import ROOT, Place

DEADLINE_SECONDS = 3 * 3600


@dataclass(frozen=True, kw_only=True)
class Proof:
    """One promise and its tests."""

    name: str
    """As requirements and reports are known by."""
    says: str
    """The promise in a sentence."""
    tests: tuple[str, ...]
    """pytest node ids of files or functions, from the root of the checkout."""
    files: tuple[str, ...] = ()
    """Functions and keys of tests/video/recipes.py that make the files."""


@dataclass(frozen=True, kw_only=True)
class TestRun:
    """How some tests went."""

    __test__ = False

    num_passed: int
    failed: tuple[str, ...]
    """Name of each test that did not pass, with the last line of why."""
    skipped: tuple[str, ...]
    """Name of each test that could not run here, with the reason."""
    figures: tuple[str, ...]
    """What tests recorded: ``name: value``."""

    @property
    def outcome(self) -> Outcome:
        """Holds when every test that can run here passed, and there was one."""
        num_run = self.num_passed + len(self.failed)
        skipped = f", {len(self.skipped)} cannot run here" if self.skipped else ""
        return Outcome(
            figure=f"{self.num_passed} of {num_run} tests passed{skipped}",
            holds=not self.failed and self.num_passed > 0,
            details=(*self.figures, *self.failed, *sorted(set(self.skipped))),
        )


def run_tests(place: Place, tests: Sequence[str], *options: str) -> TestRun:
    """Run tests in a process of their own; slow ones too, those that need a GPU not.

    Raises subprocess.TimeoutExpired, and AssertionError with pytest's own words when nothing ran.
    """
    report = place.folder / "tests.xml"
    command = [sys.executable, "-m", "pytest", "-m", "not gpu", f"--junitxml={report}"]
    command += ["-o", "junit_family=legacy", f"--basetemp={place.folder / 'pytest'}", *options]
    done = subprocess.run(
        [*command, *tests],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode in (0, 1) and report.exists(), (done.stdout + done.stderr)[-2000:]
    return read_report(report.read_text())


def read_report(text: str) -> TestRun:
    """A JUnit report as pytest writes it."""
    cases = list(ElementTree.fromstring(text).iter("testcase"))
    failed, skipped, figures = [], [], []
    for case in cases:
        name = f"{case.get('classname', '').removeprefix('tests.')}: {case.get('name')}"
        for problem in (*case.iter("failure"), *case.iter("error")):
            failed.append(f"FAILED {name}: {_last_line(problem.get('message'))}")
            break
        for reason in case.iter("skipped"):
            skipped.append(f"not run: {reason.get('message')}")
        figures += [f"{one.get('name')}: {one.get('value')}" for one in case.iter("property")]
    return TestRun(
        num_passed=len(cases) - len(failed) - len(skipped),
        failed=tuple(failed),
        skipped=tuple(skipped),
        figures=tuple(figures),
    )


def _last_line(message: str | None) -> str:
    lines = (message or "no message").strip().splitlines()
    return lines[-1][:200]


def check_of(proof: Proof, *, topic: str, name: str) -> Check:
    """The acceptance line that runs a proof's tests."""

    def measure(place: Place) -> Outcome:
        return run_tests(place, proof.tests).outcome

    return Check(name=name, topic=topic, line=proof.says, bar="all that can run", measure=measure)

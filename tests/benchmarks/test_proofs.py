"""The table of proofs names tests and files that exist; test reports are read rightly."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks.acceptance.bug_reports import BUG_REPORTS
from benchmarks.acceptance.feed_requirements import REQUIREMENTS
from benchmarks.acceptance.machine import MACHINE_PROOFS
from benchmarks.acceptance.place import Place
from benchmarks.acceptance.prepare import PREPARE_PROOFS
from benchmarks.acceptance.proofs import Proof, read_report, run_tests
from tests.video import recipes

ROOT = Path(__file__).resolve().parents[2]
PROOFS = [*MACHINE_PROOFS, *REQUIREMENTS, *PREPARE_PROOFS, *BUG_REPORTS]

REPORT = """<testsuites><testsuite>
<testcase classname="tests.feed.test_a" name="test_one"><properties>
<property name="lists" value="500"/></properties></testcase>
<testcase classname="tests.feed.test_a" name="test_two"><failure message="what&#10;why"/></testcase>
<testcase classname="tests.feed.test_a" name="test_three"><skipped message="no corpus"/></testcase>
</testsuite></testsuites>"""


def functions_in(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if hasattr(node, "name")}


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.name)
def test_every_test_that_proves_something_exists(proof: Proof) -> None:
    for test in proof.tests:
        path, _, function = test.partition("::")
        assert (ROOT / path).exists(), path
        assert not function or function in functions_in(ROOT / path), test


@pytest.mark.parametrize("proof", BUG_REPORTS, ids=lambda proof: proof.name)
def test_every_file_of_a_report_has_something_that_makes_it(proof: Proof) -> None:
    for name in proof.files:
        assert name in recipes.RECIPES or callable(getattr(recipes, name, None)), name


def test_all_forty_reports_and_all_requirements_of_the_feed_are_there() -> None:
    assert [proof.name for proof in BUG_REPORTS] == [str(number) for number in range(1, 41)]
    assert len(REQUIREMENTS) == 17
    assert len({proof.name for proof in REQUIREMENTS}) == 17


def test_a_report_tells_passed_failed_skipped_and_figures() -> None:
    run = read_report(REPORT)
    assert run.num_passed == 1
    assert run.failed == ("FAILED feed.test_a: test_two: why",)
    assert run.skipped == ("not run: no corpus",)
    assert run.figures == ("lists: 500",)
    assert run.outcome.holds is False
    assert run.outcome.figure == "1 of 2 tests passed, 1 cannot run here"


def test_tests_run_in_a_process_of_their_own_and_are_counted(tmp_path: Path) -> None:
    place = Place(folder=tmp_path, corpus=None)
    run = run_tests(place, ["tests/test_errors.py"])
    assert run.num_passed > 0
    assert run.outcome.holds
    with pytest.raises(AssertionError, match="not found"):
        run_tests(place, ["tests/test_errors.py::test_that_is_not_there"])

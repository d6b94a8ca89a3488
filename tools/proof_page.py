"""docs/proof.md: which test holds which promise of the feed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchmarks.acceptance.bug_reports import BUG_REPORTS
from benchmarks.acceptance.feed_requirements import REQUIREMENTS
from benchmarks.acceptance.proofs import Proof

INTRODUCTION = """\
<!-- Written by `make docs` from benchmarks/acceptance; do not edit. -->

# What is proven, and where

Each promise of the feed with the tests that would fail if it were broken. `make acceptance
ONLY=f-exact` runs those of one requirement, long ones too; `ONLY=bug-reports` those of all reports.
The figures are the lines of `make acceptance`.

## Requirements

"""
REPORTS = """
## Reported faults

Kinds of fault that people reported of video loaders. R numbers are recipes for files; the files are
functions or keys of `tests/video/recipes.py` and `tests/video/formats.py`, made by the ffmpeg
command. Each of them is also read in 500 random lists (`make acceptance ONLY=lists-recipes`).

"""


def proof_page() -> str:
    """The page in Markdown."""
    requirements = "\n".join(_requirement_rows(REQUIREMENTS))
    return (
        INTRODUCTION + requirements + "\n" + REPORTS + "\n".join(_report_rows(BUG_REPORTS)) + "\n"
    )


def _requirement_rows(proofs: Iterable[Proof]) -> Iterator[str]:
    yield "| requirement | says | tests |"
    yield "| --- | --- | --- |"
    for proof in proofs:
        yield f"| {proof.name} | {proof.says} | {_tests(proof)} |"


def _report_rows(proofs: Iterable[Proof]) -> Iterator[str]:
    yield "| report | fault | files | tests |"
    yield "| --- | --- | --- | --- |"
    for proof in proofs:
        files = ", ".join(f"`{name}`" for name in proof.files) or "-"
        yield f"| {proof.name} | {proof.says} | {files} | {_tests(proof) or '-'} |"


def _tests(proof: Proof) -> str:
    """File by file, each with the names of its functions."""
    by_file: dict[str, list[str]] = {}
    for test in proof.tests:
        path, _, function = test.partition("::")
        by_file.setdefault(path, []).extend([function] if function else [])
    cells = []
    for path, functions in by_file.items():
        names = ", ".join(f"`{name}`" for name in functions)
        cells.append(f"{path}: {names}" if names else path)
    return "; ".join(cells)

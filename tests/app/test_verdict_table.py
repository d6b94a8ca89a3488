from __future__ import annotations

import io
from pathlib import Path

import msgspec
from rich.console import Console

from filmgate.app.verdict_table import verdict_table
from filmgate.diagnose.judge import judge
from tests.app.runs import SUMMARY
from tests.diagnose.synthetic import DATA_BOUND, simulate

VERDICT = judge(simulate(DATA_BOUND), telemetry_digest="blake3:00")


def shown(table: object, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_table_names_what_decides() -> None:
    text = shown(verdict_table(SUMMARY, VERDICT, Path("runs/dock-001/report.html")))
    for wanted in (
        "12 (2 left out)",
        "119 clips/s",
        "42.3 clips/s",
        "34 %",
        "0.313 after 80 steps",
        "70 % of 40 held-out clips (55 to 82 %); chance 50 %",
        "Data-bound: the trainer waited",
        "Set limits.workers = 7 (now 2)",
        "runs/dock-001/report.html",
    ):
        assert wanted in text


def test_the_table_fits_a_narrow_terminal() -> None:
    lines = shown(verdict_table(SUMMARY, VERDICT, Path("report.html")), width=50).splitlines()
    assert max(map(len, lines)) <= 50


def test_brackets_in_names_are_shown_as_they_are() -> None:
    text = shown(verdict_table(SUMMARY, VERDICT, Path("runs/[red]x[/]/report.html")))
    assert "runs/[red]x[/]/report.html" in text


def test_what_is_unknown_is_said_to_be() -> None:
    unknown = msgspec.structs.replace(SUMMARY, final_loss=None, accuracy=None, seconds=None)
    verdict = judge([], telemetry_digest="blake3:00")
    text = shown(verdict_table(unknown, verdict, None))
    assert "unknown after 80 steps" in text
    assert "not scored" in text
    assert "report" not in text

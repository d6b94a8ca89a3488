"""The generators of pages, on small sources of the test's own."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer

from tools.command_page import command_page
from tools.job_page import describe_type, job_page
from tools.record_source import read_records
from tools.records_page import records_page, unit

RECORDS = '''\
from msgspec import Meta
from typing import Annotated, Literal
Positive = Annotated[int, Meta(ge=1)]
class Plain:
    x: int = 1
class Base(Record, frozen=True):
    """What is common."""
    unix_seconds: float
    """When."""
class Step(Base, frozen=True, tag="step"):
    """One ``update``."""
    loss: float | None = None
    """Lower is
    better."""
    silent: int
class _Hidden(Record):
    x: int
'''

JOB = '''\
from msgspec import Meta
Positive = Annotated[int, Meta(ge=1)]
class Clip(Record):
    """``[clip]``: the frames."""
    frames: Positive = 8
    """Frames per clip."""
    stride: Positive | None = None
    """Or ``fps``."""
class Job(Record):
    """All."""
    clip: Clip = Clip(stride=2)
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    (folder / "spec").mkdir(parents=True)
    (folder / "lines.py").write_text(RECORDS)
    (folder / "spec" / "job.py").write_text(JOB)
    return folder


def test_records_are_found_through_their_bases(package: Path) -> None:
    names = [record.name for record in read_records(package)]
    assert names == ["Base", "Step", "Clip", "Job"]


def test_a_field_keeps_its_docstring_on_one_line(package: Path) -> None:
    step = next(record for record in read_records(package) if record.name == "Step")
    assert [field.meaning for field in step.fields] == ["Lower is better.", None]
    assert step.tag == "step"


def test_the_records_page_shows_type_unit_and_meaning(package: Path) -> None:
    page = records_page(package)
    assert "| `unix_seconds` | `float` | s since 1970 | When. |" in page
    assert "| `loss` | `float \\| None` |  | Lower is better. |" in page
    assert "Has the fields of Base too." in page
    assert "One `update`." in page
    assert "Clip" not in page


def test_the_job_page_shows_bounds_defaults_and_what_holds_without_the_table(
    package: Path,
) -> None:
    page = job_page(package)
    assert "## [clip]\n\nThe frames.\n" in page
    assert "| `frames` | whole number >= 1 | `8` | Frames per clip. |" in page
    assert "| `stride` | whole number >= 1, or unset | unset | Or `fps`. |" in page
    assert "Without this table: `stride = 2`." in page


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        ("bool", "true or false"),
        ("Literal['a', 'b']", '`"a"` or `"b"`'),
        ("Annotated[float, Meta(ge=0, lt=1)]", "number >= 0 and < 1"),
        ("Annotated[str, Meta(pattern='^x$')]", "text like `^x$`"),
        ("list[str]", "list of text"),
    ],
)
def test_a_type_is_described_as_a_person_reads_it(annotation: str, words: str) -> None:
    assert describe_type(ast.parse(annotation, mode="eval").body, {}) == words


def test_a_type_without_words_is_an_error_and_not_a_gap() -> None:
    with pytest.raises(ValueError, match="no type that the job page can describe"):
        describe_type(ast.parse("set[int]", mode="eval").body, {})


@pytest.mark.parametrize(
    ("name", "expected"),
    [("size_bytes", "bytes"), ("wait_seconds", "s"), ("unix_seconds", "s since 1970"), ("a", "")],
)
def test_a_unit_is_read_from_the_name(name: str, expected: str) -> None:
    assert unit(name) == expected


def test_the_command_page_lists_groups_commands_and_options() -> None:
    app = typer.Typer()
    group = typer.Typer(help="A group.")
    app.add_typer(group, name="group")

    @group.command()
    def show(
        file: Annotated[Path, typer.Argument(help="Which.")],
        workers: Annotated[int | None, typer.Option(min=1, help="How many.")] = None,
        order: Annotated[Literal["up", "down"], typer.Option(help="Which way.")] = "up",
        json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    ) -> None:
        """Show it."""

    page = command_page(app, "tool")
    assert "## tool group\n\nA group.\n" in page
    assert "## tool group show\n\nShow it.\n" in page
    assert "| `FILE` | path | must be given | Which. |" in page
    assert "| `--workers` | whole number >= 1 |  | How many. |" in page
    assert "| `--order` | `up` or `down` | `up` | Which way. |" in page
    assert "| `--json` | switch |  | As JSON. |" in page

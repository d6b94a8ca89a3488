"""Generated pages are what the code says, and the code says something about everything."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import typer

from filmgate.app.cli import app
from filmgate.spec import Job
from tools.command_page import walk
from tools.docs import PACKAGE, generated_pages
from tools.record_source import read_records

COMMANDS = list(walk(typer.main.get_command(app), "filmgate"))


@pytest.mark.parametrize("path", sorted(generated_pages()), ids=lambda path: path.name)
def test_a_generated_page_is_up_to_date(path: Path) -> None:
    assert path.read_text() == generated_pages()[path], "make docs"


@pytest.mark.parametrize("path", sorted(generated_pages()), ids=lambda path: path.name)
def test_a_generated_page_says_that_it_is_generated(path: Path) -> None:
    assert "make docs" in path.read_text().splitlines()[0]


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[path for path, _ in COMMANDS])
def test_a_command_and_all_its_options_are_explained(path: str, command: object) -> None:
    assert command.help, f"{path} has no docstring"
    for parameter in command.params:
        assert parameter.help, f"{path}: {parameter.name} has no help text"


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[path for path, _ in COMMANDS])
def test_every_command_that_shows_something_can_show_json(path: str, command: object) -> None:
    if not hasattr(command, "commands"):
        assert "json" in inspect.signature(command.callback).parameters, path


def test_every_field_of_every_record_is_explained() -> None:
    silent = [
        f"{record.module}.{record.name}.{field.name}"
        for record in read_records(PACKAGE)
        if record.name != "Job"
        for field in record.fields
        if not field.meaning and field.name != "header"
    ]
    assert silent == []


def test_every_record_is_explained() -> None:
    silent = [f"{r.module}.{r.name}" for r in read_records(PACKAGE) if not r.meaning]
    assert silent == []


def test_every_key_of_the_job_file_is_on_the_page() -> None:
    page = next(text for path, text in generated_pages().items() if path.name == "job.md")
    for table in Job.__struct_fields__:
        section = page.partition(f"\n## [{table}]\n")[2].partition("\n## ")[0]
        for key in getattr(Job(), table).__struct_fields__:
            assert f"| `{key}` |" in section, f"{table}.{key}"

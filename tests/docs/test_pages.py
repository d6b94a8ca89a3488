"""Pages name only what is there: links, paths, make targets, commands."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
import typer

from filmgate.app.cli import app
from tools.command_page import walk

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
FOLDERS = "src|tests|docs|tools|benchmarks|examples|requirements|\\.ci"


def code_of(page: Path) -> str:
    """Every piece of code on the page, blocks and inline, a line each."""
    text = page.read_text()
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    return "\n".join([*blocks, *inline])


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_path_named_on_a_page_exists(page: Path) -> None:
    for path in re.findall(rf"(?<![\w/.-])(?:{FOLDERS})/[\w./-]*\w", page.read_text()):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_make_target_named_on_a_page_exists(page: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for target in re.findall(r"\bmake ([a-z-]+)", code_of(page)):
        assert target in targets


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_command_named_on_a_page_exists(page: Path) -> None:
    commands = dict(walk(typer.main.get_command(app), "filmgate"))
    for line in re.findall(r"^(?:\.venv/bin/)?(filmgate [^\n#]+)", code_of(page), re.MULTILINE):
        words = shlex.split(line)
        name = " ".join(words[:3]) if " ".join(words[:3]) in commands else " ".join(words[:2])
        if words[1].startswith("-"):
            continue
        assert name in commands, line
        options = {option for parameter in commands[name].params for option in parameter.opts}
        for word in words:
            assert not word.startswith("--") or word in options, line


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_a_page_is_ascii_in_lines_that_fit_a_window(page: Path) -> None:
    text = page.read_text()
    assert text.isascii()
    for line in text.splitlines():
        assert len(line) <= 120 or line.startswith("|"), line


def test_every_tracked_file_is_ascii() -> None:
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    for name in listing.stdout.rstrip("\0").split("\0"):
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".txt", ".html", ".jinja", ".sh"}:
            assert not path.exists() or path.read_bytes().isascii(), name


def test_the_index_lists_every_room() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    for room in (ROOT / "src" / "filmgate").iterdir():
        if room.is_dir() and room.name != "__pycache__":
            assert f"| `src/filmgate/{room.name}` |" in index


def test_glossary_words_stand_once_and_in_order() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", (ROOT / "docs/glossary.md").read_text(), re.M)
    words = [word for word, _ in rows[2:]]
    assert words == sorted(set(words))
    assert all(meaning.strip() for _, meaning in rows)


def test_every_decision_is_listed_and_numbered_in_order() -> None:
    folder = ROOT / "docs" / "decisions"
    notes = sorted(path.name for path in folder.glob("[0-9]*.md"))
    assert [int(name[:4]) for name in notes] == list(range(1, len(notes) + 1))
    listed = re.findall(r"\]\((\d[^)]+)\)", (folder / "README.md").read_text())
    assert listed == notes


def test_the_documented_pythons_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    readme = (ROOT / "README.md").read_text()
    script = (ROOT / "tools" / "python.sh").read_text()
    for version in versions:
        assert version in readme
        assert version in script


def test_the_job_that_the_readme_shows_is_the_example() -> None:
    example = (ROOT / "examples/five_lines.toml").read_text()
    assert f"```toml\n{example}```" in (ROOT / "README.md").read_text()

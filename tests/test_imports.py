"""What import-linter cannot see: when a heavy library is loaded; imports inside functions."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.patience import PATIENT_SECONDS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "filmgate"
HEAVY = ("torch", "av", "pyarrow", "matplotlib", "numpy", "jinja2", "PIL")
ROOMS_WITHOUT_TORCH = (
    "records", "spec", "work", "video", "catalog", "machine", "pack", "plan",
    "diagnose",
)  # fmt: skip


def loaded_after(statements: str) -> set[str]:
    """Top names of all modules that a fresh Python has loaded after the statements."""
    code = f"{statements}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=PATIENT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split("\n")[-2].split())


def modules_of(room: str) -> list[str]:
    paths = sorted((PACKAGE / room).rglob("*.py"))
    return [
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        for path in paths
    ]


def test_help_loads_nothing_heavy() -> None:
    loaded = loaded_after(
        "from filmgate.app.cli import run_command_line\nassert run_command_line(['--help']) == 0"
    )
    assert not loaded.intersection(HEAVY)


@pytest.mark.parametrize("room", ROOMS_WITHOUT_TORCH)
def test_rooms_below_the_feed_start_without_torch(room: str) -> None:
    assert "torch" not in loaded_after(f"import {', '.join(modules_of(room))}")


def test_every_module_can_be_imported() -> None:
    names = [name for room in PACKAGE.iterdir() if room.is_dir() for name in modules_of(room.name)]
    assert "filmgate" in loaded_after(f"import {', '.join(names)}")


def test_below_app_no_import_hides_in_a_function() -> None:
    hidden = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if "app" not in path.relative_to(PACKAGE).parts
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert hidden == []


def test_a_room_shows_at_most_eight_names() -> None:
    for path in sorted(PACKAGE.glob("*/__init__.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                assert len(ast.literal_eval(node.value)) <= 8, path


def test_the_layers_name_every_room() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = " ".join(project["tool"]["importlinter"]["contracts"][0]["layers"])
    for room in PACKAGE.iterdir():
        if room.is_dir() and room.name != "__pycache__":
            assert f"filmgate.{room.name}" in layers

"""tools/python.sh, run against a PATH of the test's own making."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENT_SECONDS

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "python.sh"


def fake_python(folder: Path, name: str, version: str, *, has_venv: bool = True) -> None:
    """A command that answers the two questions that the script asks a Python."""
    program = folder / name
    program.write_text(
        f'#!/bin/sh\ncase "$2" in *version_info*) echo {version} ;; '
        f"*) exit {0 if has_venv else 1} ;; esac\n"
    )
    program.chmod(0o755)


def pick(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(SCRIPT), *arguments],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=PATIENT_SECONDS,
        check=False,
    )


def test_this_python_is_suitable() -> None:
    done = pick(Path("/usr/bin"), sys.executable)
    assert (done.returncode, done.stdout) == (0, f"{sys.executable}\n")


def test_the_first_suitable_one_is_taken(tmp_path: Path) -> None:
    fake_python(tmp_path, "python3", "3.10")
    fake_python(tmp_path, "python3.13", "3.13", has_venv=False)
    fake_python(tmp_path, "python3.12", "3.12")
    fake_python(tmp_path, "python3.11", "3.11")
    assert pick(tmp_path).stdout == "python3.12\n"


def test_none_found_is_an_error_that_lists_what_was_tried(tmp_path: Path) -> None:
    fake_python(tmp_path, "python3", "3.9")
    done = pick(tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "error: no Python 3.11, 3.12 or 3.13" in done.stderr
    assert "python3 is Python 3.9" in done.stderr
    assert "python3.12 not found" in done.stderr
    assert "hint: install one" in done.stderr


def test_a_python_without_venv_is_an_error_that_names_the_package(tmp_path: Path) -> None:
    fake_python(tmp_path, "python3", "3.11", has_venv=False)
    done = pick(tmp_path)
    assert done.returncode == 2
    assert "without the venv and ensurepip modules" in done.stderr
    assert "hint: on Debian and Ubuntu: apt-get install python3-venv" in done.stderr


def test_a_named_python_is_not_replaced_by_another(tmp_path: Path) -> None:
    fake_python(tmp_path, "python3", "3.12")
    fake_python(tmp_path, "old python", "3.8")
    done = pick(tmp_path, str(tmp_path / "old python"))
    assert done.returncode == 2
    assert "old python is Python 3.8" in done.stderr


@pytest.mark.parametrize("script", ["tools/python.sh", ".ci/run"])
def test_a_script_has_no_syntax_error(script: str) -> None:
    path = SCRIPT.parents[1] / script
    shell = path.read_text().splitlines()[0].split()[-1].split("/")[-1]
    subprocess.run([shell, "-n", str(path)], check=True, timeout=PATIENT_SECONDS)

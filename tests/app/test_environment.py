from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENT_SECONDS


def filmgate(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    import os

    return subprocess.run(
        [sys.executable, "-m", "filmgate", "env", *map(str, arguments)],
        capture_output=True, text=True, env={**os.environ, **variables},
        timeout=PATIENT_SECONDS, check=False,
    )  # fmt: skip


def test_a_lock_is_written_shown_and_holds_until_something_is_set_otherwise(tmp_path: Path) -> None:
    done = filmgate("lock", "--out", tmp_path / "lock", "--no-probe", API_TOKEN="hunter2")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "lock").iterdir()} == {
        "environment.json", "requirements.txt", "Containerfile",
    }  # fmt: skip
    assert not any("hunter2" in path.read_text() for path in (tmp_path / "lock").iterdir())
    shown = filmgate("show", tmp_path / "lock")
    assert "ffmpeg.avcodec" in shown.stdout
    check = filmgate("check", tmp_path / "lock", "--json")
    assert check.returncode == 0, check.stdout
    assert json.loads(check.stdout)["grade"] == "identical"
    other = filmgate("check", tmp_path / "lock", "--json", PYTHONHASHSEED="7")
    assert other.returncode == 1
    (one,) = json.loads(other.stdout)["differences"]
    assert (one["name"], one["grade"]) == ("variable.PYTHONHASHSEED", "results")
    allowed = filmgate("check", tmp_path / "lock", "--allow", "results", PYTHONHASHSEED="7")
    assert allowed.returncode == 0
    assert "can change results" in allowed.stdout
    elsewhere = filmgate("check", tmp_path / "lock", "--only", "package", PYTHONHASHSEED="7")
    assert elsewhere.returncode == 0


def test_a_package_that_is_not_there_cannot_be_locked(tmp_path: Path) -> None:
    done = filmgate("lock", "--out", tmp_path, "--no-probe", "--uses", "no-such-thing")
    assert done.returncode == 2
    assert "no-such-thing is not installed here" in done.stderr

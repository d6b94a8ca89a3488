from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.patience import PATIENT_SECONDS
from tools import setup
from tools.environment import (
    PINS,
    ROOT,
    Pip,
    SetupError,
    new_environment,
    pinned,
    processes_using,
    step,
)
from tools.lowest import lowest_versions


def test_an_environment_without_a_stamp_is_not_current(tmp_path: Path) -> None:
    assert not setup.is_current(tmp_path)


def test_an_environment_is_current_until_what_it_depends_on_changes(tmp_path: Path) -> None:
    stamp = tmp_path / setup.STAMP
    gpu = setup.has_nvidia_gpu()
    stamp.write_text(setup.fingerprint(gpu=gpu))
    assert setup.is_current(tmp_path)
    stamp.write_text(setup.fingerprint(gpu=not gpu))
    assert not setup.is_current(tmp_path)


def test_other_pins_are_another_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = setup.fingerprint(gpu=False)
    pins = tmp_path / "pins.txt"
    pins.write_text(PINS.read_text() + "one-more==1.0\n")
    monkeypatch.setattr(setup, "PINS", pins)
    assert setup.fingerprint(gpu=False) != before


def test_a_set_up_that_fails_leaves_no_stamp_and_is_made_from_nothing(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    venv.mkdir()
    (venv / "half-made").touch()
    pip = new_environment(venv)
    assert not (venv / "half-made").exists()
    with pytest.raises(SetupError, match="exit code 3") as failure:
        pip.run_python("-c", "import sys; print('what went wrong'); sys.exit(3)")
    assert "what went wrong" in str(failure.value)
    assert "what went wrong" in pip.log.read_text()
    assert not setup.is_current(venv)


def test_an_environment_in_use_is_not_taken_away(tmp_path: Path) -> None:
    library = tmp_path / "venv" / "library.so"
    library.parent.mkdir()
    library.write_bytes(b"code")
    use = (
        "import mmap, sys\n"
        "file = open(sys.argv[1])\n"
        "loaded = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", use, str(library)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as user:
        assert user.stdout is not None
        assert user.stdout.readline() == b"ready\n"
        with pytest.raises(SetupError, match=f"in use: process {user.pid} "):
            new_environment(tmp_path / "venv")
        assert library.exists()
        user.communicate()
    assert list(processes_using(tmp_path / "venv")) == []


def test_what_does_not_end_is_ended_at_its_deadline(tmp_path: Path) -> None:
    pip = Pip(tmp_path)
    pip.python = Path(sys.executable)
    with pytest.raises(SetupError, match="did not end within 0 s"):
        pip.run_python("-c", "import time; time.sleep(30)", deadline_seconds=0.2)


def test_two_set_ups_follow_one_another(tmp_path: Path) -> None:
    wait = (
        "import sys, pathlib; from tools.setup import one_at_a_time\n"
        "with one_at_a_time(pathlib.Path(sys.argv[1])): print('got it', flush=True)"
    )
    with setup.one_at_a_time(tmp_path):
        second = subprocess.Popen(
            [sys.executable, "-c", wait, str(tmp_path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(timeout=1)
    assert second.communicate(timeout=PATIENT_SECONDS)[0] == "got it\n"


def test_a_step_tells_what_failed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError), step("something"):
        raise RuntimeError
    assert capsys.readouterr().err == "  something ... failed\n"


def test_every_requirement_is_pinned_within_its_bounds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for requirement in lowest_versions(project):
        name, _, lowest = requirement.partition("==")
        found = [int(part) for part in pinned(name).split(".") if part.isdigit()]
        assert found >= [int(part) for part in lowest.split(".")], name


def test_a_missing_pin_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "pins.txt").write_text("other==1.0\n")
    with pytest.raises(SetupError, match="no line torch==VERSION") as failure:
        pinned("torch", tmp_path / "pins.txt")
    assert failure.value.hint == "make pins writes the file anew"


def test_pins_name_no_build_and_no_place() -> None:
    lines = [line for line in PINS.read_text().splitlines() if not line.startswith("#")]
    assert all(line.count("==") == 1 and "+" not in line and "@" not in line for line in lines)
    assert lines == sorted(lines)


def test_a_requirement_without_a_lower_bound_is_refused() -> None:
    with pytest.raises(SetupError, match="'numpy<3'"):
        lowest_versions({"dependencies": ["numpy<3"], "optional-dependencies": {"dev": []}})


@pytest.mark.gpu
def test_the_torch_of_a_gpu_machine_carries_cuda() -> None:
    torch = pytest.importorskip("torch")
    assert torch.version.cuda is not None

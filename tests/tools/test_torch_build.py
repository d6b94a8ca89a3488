from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.wheels import serve, write_wheel
from tools.environment import Pip, SetupError
from tools.torch_build import choose_torch, size_bytes, why_unreachable

VERSION = "9.1.0"


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """An ordinary index: torch with CUDA, and what it needs."""
    folder = tmp_path / "ordinary"
    write_wheel(folder, "torch", VERSION, needs=["nvidia-cublas==1.0"])
    write_wheel(folder, "nvidia-cublas", "1.0")
    return folder


@pytest.fixture
def pip(tmp_path: Path, packages: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pip]:
    """The tests' own pip, which sees the ordinary index and nothing else."""
    with serve(packages) as address:
        for name, value in {"INDEX_URL": address, "CONFIG_FILE": "/dev/null"}.items():
            monkeypatch.setenv(f"PIP_{name}", value)
        for name in ("FIND_LINKS", "EXTRA_INDEX_URL", "CONSTRAINT", "NO_INDEX"):
            monkeypatch.delenv(f"PIP_{name}", raising=False)
        pip = Pip(tmp_path)
        pip.python = Path(sys.executable)
        yield pip


def dead_address() -> str:
    """An address of this machine at which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_without_a_gpu_the_cpu_index_is_asked(pip: Pip, tmp_path: Path) -> None:
    write_wheel(tmp_path / "cpu", "torch", f"{VERSION}+cpu")
    with serve(tmp_path / "cpu") as cpu_index:
        build = choose_torch(pip, version=VERSION, gpu=False, cpu_index=cpu_index)
    assert build.requirement == f"torch=={VERSION}+cpu"
    assert build.options == ("--extra-index-url", cpu_index)


def test_a_cpu_build_of_a_configured_source_is_taken_when_the_cpu_index_is_out_of_reach(
    pip: Pip, packages: Path
) -> None:
    write_wheel(packages, "torch", f"{VERSION}+cpu")
    build = choose_torch(pip, version=VERSION, gpu=False, cpu_index=dead_address())
    assert build.requirement == f"torch=={VERSION}+cpu"
    assert build.options == ()


def test_with_a_gpu_the_ordinary_build_is_taken_even_beside_a_cpu_build(
    pip: Pip, packages: Path
) -> None:
    write_wheel(packages, "torch", f"{VERSION}+cpu")
    build = choose_torch(pip, version=VERSION, gpu=True, cpu_index=dead_address())
    report = pip.run_python(
        *("-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"),
        build.requirement,
    )
    assert f"torch-{VERSION}-py3" in report
    assert "+cpu" not in report
    assert "%2Bcpu" not in report


def test_a_cuda_build_is_announced_with_its_size(
    pip: Pip, packages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build = choose_torch(pip, version=VERSION, gpu=False, cpu_index=dead_address())
    assert build.requirement == f"torch==={VERSION}"
    said = capsys.readouterr().err
    assert "does not answer" in said
    assert "no CPU build" in said
    assert "a CUDA build in 2 packages, 0.00 GB" in said


def test_the_size_is_what_the_server_says(pip: Pip, packages: Path) -> None:
    wheel = packages / "torch" / f"torch-{VERSION}-py3-none-any.whl"
    with serve(packages) as address:
        assert size_bytes(f"{address}/torch/{wheel.name}") == wheel.stat().st_size
    assert size_bytes(wheel.as_uri()) == wheel.stat().st_size
    assert size_bytes(f"{dead_address()}/torch") is None


def test_no_torch_at_all_is_an_error_that_shows_what_pip_said(pip: Pip, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with serve(empty) as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_INDEX_URL", address)
        with pytest.raises(SetupError, match="No matching distribution"):
            choose_torch(pip, version=VERSION, gpu=False, cpu_index=dead_address())


def test_a_host_that_never_answers_costs_no_more_than_the_limit() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        began = time.monotonic()
        reason = why_unreachable(f"http://127.0.0.1:{listener.getsockname()[1]}/", 0.3)
    assert reason is not None
    assert time.monotonic() - began < 30


def test_an_index_that_answers_with_an_error_is_not_used(tmp_path: Path) -> None:
    with serve(tmp_path) as address:
        assert why_unreachable(f"{address}/", 2) is None
        assert why_unreachable(f"{address}/torch/", 2) is not None

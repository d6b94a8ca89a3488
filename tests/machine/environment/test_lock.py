from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from filmgate.machine.environment.containerfile import containerfile_text, requirements_text
from filmgate.machine.environment.diff import compare_environments
from filmgate.machine.environment.facts import Environment, Package
from filmgate.machine.environment.ffmpeg import portable
from filmgate.machine.environment.golden import CLIPS, EXACT, frame_probes
from filmgate.machine.environment.lock import capture_environment, faults_of, make_environment
from filmgate.machine.environment.packages import installed_packages
from filmgate.machine.environment.variables import VARIABLES, variable_facts
from tests.machine.environment.made import environment
from tests.patience import PATIENT_SECONDS


@pytest.fixture(scope="module")
def here() -> Environment:
    return capture_environment([], [])


def test_a_lock_comes_back_the_same_and_is_identical_to_a_second_one(here: Environment) -> None:
    assert msgspec.json.decode(msgspec.json.encode(here), type=Environment) == here
    again = capture_environment([], [])
    assert again.header.inputs == here.header.inputs
    assert compare_environments(here, again).grade == "identical"


def test_every_fact_has_a_value_or_a_reason(here: Environment) -> None:
    for fact in here.facts:
        assert (fact.value is None) == (fact.why_unknown is not None), fact.name


def test_a_lock_names_no_folder_of_the_machine_and_no_user(here: Environment) -> None:
    text = msgspec.json.encode(here).decode()
    for place in (str(Path.home()), sys.prefix, str(Path(__file__).resolve().parents[3])):
        assert len(place) < 4 or place not in text
    assert not re.search(r'"/[^"]*"', text)


def test_only_listed_variables_are_read_and_paths_are_replaced_by_digests() -> None:
    found = {
        fact.name: fact.value
        for fact in variable_facts(
            {
                "AWS_SECRET_ACCESS_KEY": "hunter2",
                "OMP_NUM_THREADS": "4",
                "LD_PRELOAD": "/home/me/x.so",
            }
        )
    }
    assert "hunter2" not in str(found)
    assert found["variable.OMP_NUM_THREADS"] == "4"
    assert str(found["variable.LD_PRELOAD"]).startswith("blake3:")
    assert found["variable.NCCL_DEBUG"] == "none"


def test_no_variable_of_the_list_is_of_a_kind_that_holds_secrets() -> None:
    for variable in VARIABLES:
        assert not re.search("TOKEN|SECRET|KEY|PASS|CREDENTIAL|AUTH|PROXY|URL", variable.name)


def test_packages_have_the_digest_of_what_was_installed_and_tell_of_altered_files(
    tmp_path: Path,
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "thing.py").write_text("x = 1\n")
    info = site / "thing-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
    (info / "RECORD").write_text(
        "thing.py,sha256=3SLGS4uIzG-ob4ktZ0-vTxH9nyY-wyh9THFDtx5fkr8,6\n"
        "thing-1.0.dist-info/METADATA,,\n../../bin/thing,sha256=abc,9\nthing-1.0.dist-info/RECORD,,\n"
    )

    def read(*, deep: bool = False) -> Package:
        code = (
            "import sys, msgspec; sys.path.insert(0, sys.argv[1])\n"
            "from filmgate.machine.environment.packages import installed_packages\n"
            f"found = installed_packages(['thing'], deep={deep})\n"
            "one = next(p for p in found if p.name == 'thing')\n"
            "sys.stdout.buffer.write(msgspec.json.encode(one))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(site)],
            capture_output=True,
            timeout=PATIENT_SECONDS,
            check=True,
        )
        return msgspec.json.decode(done.stdout, type=Package)

    whole = read()
    assert whole.is_needed
    assert whole.digest is not None
    assert whole.altered == []
    (site / "thing.py").write_text("x = 2\n")
    assert read().altered == []
    assert read(deep=True).num_altered == 1
    (site / "thing.py").write_text("x = 20\n")
    altered = read()
    assert altered.altered == ["thing.py: 7 bytes, installed with 6"]
    assert altered.digest == whole.digest


def test_what_filmgate_needs_is_told_from_what_happens_to_be_there() -> None:
    needed = {package.name for package in installed_packages() if package.is_needed}
    assert {"filmgate", "av", "numpy", "msgspec"} <= needed
    assert not needed & {"pytest", "ruff", "hypothesis"}
    assert "pytest" in {one.name for one in installed_packages(["pytest"]) if one.is_needed}


def test_the_golden_frames_are_those_of_the_standard_here() -> None:
    probes = {probe.name: probe for probe in frame_probes()}
    assert set(probes) == {f"frames.{codec}" for codec in CLIPS}
    for codec in EXACT:
        assert probes[f"frames.{codec}"].value == probes[f"frames.{codec}"].expected


def test_another_ffmpeg_agrees_with_the_golden_frames_that_the_standard_fixes() -> None:
    if shutil.which("ffmpeg") is None:
        pytest.skip("no ffmpeg command")
    from filmgate.records import digest_bytes

    expected = {probe.name: probe.expected for probe in frame_probes()}
    for codec in EXACT:
        done = subprocess.run(
            ["ffmpeg", "-v", "error", "-i", str(CLIPS[codec]), "-fps_mode", "passthrough",
             "-f", "framemd5", "-"],
            capture_output=True, text=True, timeout=PATIENT_SECONDS, check=True,
        )  # fmt: skip
        lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
        rows = [line.rsplit(",", 1)[1].strip() for line in lines]
        assert digest_bytes("\n".join(rows).encode()) == expected[f"frames.{codec}"], codec


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"skip_loop_filter": "all"}, {"frames.h264", "frames.hevc", "frames.vp8"}),
        ({"idct": "faani"}, {"frames.mjpeg", "frames.mpeg2video", "frames.mpeg4"}),
    ],
)
def test_the_golden_probe_finds_a_changed_decoder(
    options: dict[str, str], found: set[str], here: Environment
) -> None:
    there = make_environment(here.facts, here.packages, frame_probes(options))
    diff = compare_environments(here, there)
    assert {one.name for one in diff.differences} == {f"probe.{name}" for name in found}
    assert diff.grade == "results"


def test_a_decoder_that_breaks_the_standard_is_found_without_a_second_environment() -> None:
    broken = make_environment([], [], frame_probes({"skip_loop_filter": "all"}))
    assert [fault.split(":")[0] for fault in faults_of(broken)] == [
        "frames.h264", "frames.hevc", "frames.vp8",
    ]  # fmt: skip


def test_ffmpegs_options_are_kept_without_places() -> None:
    text = "--prefix=/home/ann/build --enable-gpl --extra-cflags='-I/opt/x -O2' --disable-doc"
    assert portable(text) == "--disable-doc --enable-gpl"


def test_requirements_pin_what_is_needed_and_say_where_its_builds_are() -> None:
    lock = environment(packages={"torch": "2.13.0+cu130", "colorful-logs": "1.0"})
    lines = requirements_text(lock).splitlines()
    assert lines[0] == "--extra-index-url https://download.pytorch.org/whl/cu130"
    assert "torch==2.13.0+cu130" in lines
    assert not any("colorful" in line or "filmgate" in line for line in lines)


def test_the_containerfile_takes_the_locks_python_and_ends_with_a_check() -> None:
    text = containerfile_text(
        environment({"os.distribution": "Debian GNU/Linux 12 (bookworm)",
                     "variable.OMP_NUM_THREADS": "8"})
    )  # fmt: skip
    assert "FROM docker.io/library/python:3.12.4-slim-bookworm" in text
    assert 'ENV OMP_NUM_THREADS="8"' in text
    last = text.strip().splitlines()[-1]
    assert last.startswith("RUN filmgate env check /lock/environment.json")


def test_a_lock_file_is_json_that_a_person_can_read(here: Environment) -> None:
    facts = json.loads(msgspec.json.encode(here))["facts"]
    assert {"name": "os.system", "value": "Linux", "why_unknown": None} in facts

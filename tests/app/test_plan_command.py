from __future__ import annotations

import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from msgspec import json

from filmgate.app.cli import run_command_line
from filmgate.app.plan_measured import read_measured
from filmgate.app.plan_whole import WholePlan
from filmgate.errors import UserError
from filmgate.machine.measured import BenchPart, Identity, MachineMeasured, measure_of
from filmgate.records import Header, write_record
from tests.machine.made import MadeMachine
from tests.patience import PATIENT_SECONDS

FIVE_LINES = """\
[deliverable]
mode = "lora"

[plan]
model = "wan2.1-14b"
"""
ROWS = """\
id,model,task,frames,height,width,batch,method,precision,mem_value,mem_unit,sec_per_step,gpu
a,CogVideoX-2B,train,49,480,720,1,lora,bf16,16,GB,2.0,A100
b,CogVideoX-2B,train,49,480,720,4,lora,bf16,30,GB,8.1,A100
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.toml"
    path.write_text(FIVE_LINES)
    return path


def told(capsys: pytest.CaptureFixture[str], *words: str | Path) -> WholePlan:
    assert run_command_line(["plan", *map(str, words), "--json"]) == 0
    return json.decode(capsys.readouterr().out, type=WholePlan)


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    assert run_command_line(["plan", *map(str, words)]) == 2
    return capsys.readouterr().err


def test_a_job_with_five_lines_is_enough(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = told(capsys, job)
    assert plan.title == "Wan 2.1 14B"
    assert plan.server is not None
    assert plan.cost is not None
    assert plan.request.assumed
    assert {"fits", "does not fit"} <= {card.verdict for card in plan.cards}


def test_a_page_is_written_beside_the_words(
    job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["plan", str(job), "--page", str(tmp_path / "plan.html")]) == 0
    assert "break-even" in capsys.readouterr().out
    assert "Wan 2.1 14B" in (tmp_path / "plan.html").read_text()


def test_the_formula_path_starts_without_torch(job: Path) -> None:
    code = (
        "import sys\nfrom filmgate.app.cli import run_command_line\n"
        f"assert run_command_line(['plan', {str(job)!r}, '--json']) == 0\n"
        "print([n for n in ('torch', 'matplotlib', 'pyarrow', 'fastapi') if n in sys.modules],"
        " file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        timeout=PATIENT_SECONDS,
    )  # fmt: skip
    assert done.stderr.strip() == "[]"


def test_a_part_is_held_against_a_machine(
    job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = MadeMachine()
    made.gpu(name="NVIDIA A100-SXM4-80GB")
    write_record(tmp_path / "machine.json", made.machine())
    plan = told(capsys, job, "--machine", tmp_path / "machine.json", "--add", "RTX 5090",
                "--add", "ram=512GB")  # fmt: skip
    assert [one.part for one in plan.upgrades] == ["RTX 5090", "ram=512GB"]
    assert plan.upgrades[0].gain is not None


def test_what_a_bench_measured_stands_above_the_table(
    job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    identity = Identity(
        product=None, cpu=None, num_cpus=None, usable_cores=None, memory_bytes=None,
        gpus=["NVIDIA H100 PCIe"], is_virtual_machine=None, kernel=None, driver_version=None,
        versions={},
    )  # fmt: skip
    copies = measure_of("gpu0-copy", "bytes/s", [1.5e12, 1.7e12], definition="made up")
    bench = MachineMeasured(
        header=Header(schema="filmgate.bench", schema_version=1), identity=identity,
        is_quick=True, parts=[BenchPart(name="memory", status="measured", measures=[copies])],
    )  # fmt: skip
    write_record(tmp_path / "bench.json", bench)
    plan = told(capsys, job, "--measured", tmp_path / "bench.json", "--card", "H100 PCIe")
    step = next(one for one in plan.cards if one.card == "H100 PCIe").step
    assert step is not None
    assert {part.name: part.basis for part in step.parts}["memory bandwidth"] == "measured"
    assert read_measured([tmp_path / "bench.json"], "bf16").card == "NVIDIA H100 PCIe"


def test_a_record_of_another_kind_is_no_measurement(tmp_path: Path) -> None:
    write_record(tmp_path / "machine.json", MadeMachine().machine())
    with pytest.raises(UserError, match=r"filmgate\.machine"):
        read_measured([tmp_path / "machine.json"], "bf16")


def test_wrong_wishes_are_errors_that_say_what_is_allowed(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "near it: RTX 5090" in refused(capsys, job, "--card", "RTX 5090 Ti")
    assert "lies from 0 to 1" in refused(capsys, job, "--residual-share", "3")
    assert "needs --machine" in refused(capsys, job, "--add", "L4")
    assert "do not go together" in refused(capsys, job, "--serve", "--json")
    assert "validate" in refused(capsys, "validate")
    assert "one job file" in refused(capsys, job, job)


def test_a_negative_price_is_an_error(
    job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = tmp_path / "prices.csv"
    prices.write_text(
        "thing,figure,low,high,unit,source,date\n"
        "electricity,tariff,-0.3,,USD/kWh,my bill,2026-11-01\n"
    )
    assert "-0.3" in refused(capsys, job, "--prices", prices)


def test_published_rows_are_predicted_and_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text(ROWS)
    assert run_command_line(["plan", "validate", str(rows)]) == 0
    said = capsys.readouterr().out
    assert "1 of 1 predicted times within 15 %" in said
    assert "of 2 rows held" in said
    rows.write_text(ROWS.replace("8.1", "-8.1"))
    assert "above 0" in refused(capsys, "validate", rows)


def test_the_served_page_is_told_and_answers(job: Path) -> None:
    words = [sys.executable, "-m", "filmgate", "plan", str(job), "--serve", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stderr is not None
            address = serving.stderr.readline().split()[1]
            with urllib.request.urlopen(address, timeout=PATIENT_SECONDS) as reply:
                assert b"Wan 2.1 14B" in reply.read()
        finally:
            serving.terminate()
            serving.wait(PATIENT_SECONDS)

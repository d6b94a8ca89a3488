from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from filmgate.app.cli import run_command_line
from filmgate.app.plan_cards import plan_cards
from filmgate.app.plan_memory import requested
from filmgate.errors import UserError
from tests.patience import PATIENT_SECONDS

FIVE_LINES = """[plan]
model = "wan2.1-1.3b"
[deliverable]
mode = "lora"
seconds = 5
"""


def job(folder: Path, text: str) -> Path:
    path = folder / "job.toml"
    path.write_text(text)
    return path


def test_five_lines_are_a_plan_and_all_that_was_assumed_is_listed(tmp_path: Path) -> None:
    asked = requested(job(tmp_path, FIVE_LINES))
    assert asked.request.frames == 81
    assumed = {one.name: one for one in asked.request.assumed}
    assert "5 s at 16 frames/s" in assumed["frames"].source
    assert {"height", "width", "batch", "optimizer", "checkpointing"} <= assumed.keys()
    assert all(one.source for one in assumed.values())


def test_json_has_the_memory_and_the_verdict_of_every_card(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["plan", str(job(tmp_path, FIVE_LINES)), "--json"]) == 0
    record = json.loads(capfd.readouterr().out)
    assert len(record["cards"]) > 10
    for card in record["cards"]:
        assert 0 < card["reserved_low_bytes"] <= card["reserved_high_bytes"]
        assert card["allocated_bytes"] == record["estimate"]["allocated_bytes"]
        assert card["verdict"] in ("fits", "does not fit", "cannot say")
    assert record["estimate"]["method"] == "formula"


def test_levers_save_what_they_say(tmp_path: Path) -> None:
    text = FIVE_LINES.replace("lora", "full") + "[train]\nsteps = 1\n"
    found = plan_cards(requested(job(tmp_path, text)))
    assert {"mode", "optimizer", "offload", "precision"} <= {
        lever.change.split(" ")[0] for lever in found.levers
    }
    saved = [lever.saves_bytes for lever in found.levers]
    assert saved == sorted(saved, reverse=True)
    assert all(0 < one < found.estimate.allocated_bytes for one in saved)


@pytest.mark.parametrize(
    ("text", "named"),
    [('[plan]\nmodel = "wan2.1-1.3b"\n[deliverable]\nframes = 80\n', "4 k + 1"),
     ('[plan]\nmodel = "wan2.1-1.3b"\n[deliverable]\nheight = 470\n', "multiples of 16"),
     ('[plan]\nmodel = "wan"\n', "wan2.1-1.3b"),
     ('[plan]\nmodel = "svd"\n[deliverable]\nseconds = 1\nframes = 9\n', "one of"),
     ("[deliverable]\nseconds = 2\n", "fps")],
)  # fmt: skip
def test_what_cannot_be_names_what_can(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(UserError) as raised:
        requested(job(tmp_path, text))
    assert named in f"{raised.value.message} {raised.value.hint}"


def test_a_model_of_ones_own_is_traced(tmp_path: Path) -> None:
    asked = requested(job(tmp_path, "[clip]\nframes = 4\nheight = 32\nwidth = 32\n"))
    found = asked.estimate_of(asked.request)
    assert found.method == "traced"
    assert found.allocated_bytes > 0
    assert "classes" in {one.name for one in found.assumptions}


def test_formulas_do_not_load_torch(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom filmgate.app.cli import run_command_line\n"
        f"assert run_command_line(['plan', {str(job(tmp_path, FIVE_LINES))!r}, '--json']) == 0\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENT_SECONDS,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_rows_are_scored_on_the_command_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text(
        "id,model,task,frames,height,width,batch,method,precision,mem_value,mem_unit\n"
        "a,CogVideoX-2B,train,49,480,720,1,lora,bf16,12.9,GiB\n"
    )
    assert run_command_line(["plan", "validate", str(rows)]) == 0
    assert "1 of 1 rows held (100 %)" in capfd.readouterr().out
    assert run_command_line(["plan", "validate", str(rows), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["num_held"] == 1
    assert run_command_line(["plan", "validate"]) == 2
    assert run_command_line(["plan", str(rows), str(rows)]) == 2

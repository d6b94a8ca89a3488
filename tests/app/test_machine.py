from __future__ import annotations

import io
import json
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest

from filmgate.app.audit import Wish, audit_with, has_failed, needs_from
from filmgate.app.cli import run_command_line
from filmgate.app.machine_facts import machine_rows
from filmgate.errors import UserError
from filmgate.machine.attested import read_attested
from filmgate.machine.checklist import CHECKS
from filmgate.machine.machine import read_machine, this_source
from filmgate.machine.thresholds import THRESHOLDS
from tests.machine.made import made_server

ROOT = Path(__file__).resolve().parents[2]
STATUSES = {"ok", "warn", "fail", "unknown", "not present", "attested"}


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(capsysbinary: Any, *arguments: str | Path) -> tuple[int, str]:
    code = run_command_line([str(argument) for argument in arguments])
    return code, capsysbinary.readouterr().out.decode()


def saved_machine(folder: Path) -> Path:
    made = made_server()
    made.gpu(link=(5, 8))
    path = folder / "machine.json"
    path.write_bytes(msgspec.json.encode(made.machine()))
    return path


def test_every_command_runs_on_this_machine(tmp_path: Path, capsysbinary: Any) -> None:
    code, text = command(capsysbinary, "machine", "show", "--page", "m.html", "--svg", "m.svg")
    assert code == 0
    assert "usable cores" in text
    assert "<svg" in (tmp_path / "m.html").read_text()
    assert (tmp_path / "m.svg").read_text().startswith("<svg")
    assert command(capsysbinary, "machine", "capture", "here.tar.gz")[0] == 0
    code, text = command(capsysbinary, "audit", "--capture", "here.tar.gz", "--json")
    audit = json.loads(text)
    assert code in (0, 1)
    assert [item["name"] for item in audit["items"]] == [check.name for check in CHECKS]
    assert {item["status"] for item in audit["items"]} <= STATUSES
    assert command(capsysbinary, "audit", "--dataset", tmp_path, "--page", "a.html")[0] in (0, 1)
    assert "Evidence and next step" in (tmp_path / "a.html").read_text()


def test_the_exit_code_says_whether_a_line_fails(tmp_path: Path, capsysbinary: Any) -> None:
    path = saved_machine(tmp_path)
    code, text = command(capsysbinary, "audit", "--capture", path)
    assert code == 1
    assert "gen 5 x8 of gen 5 x16" in text
    assert "held against the rules of the field" in text
    audit = audit_with(Wish(capture=path))
    assert has_failed(audit, strict=False)


def test_a_job_sets_the_bars_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(
        '[job]\nname = "lines"\n[limits]\nworkers = 40\ncache = "100GB"\n'
        "[clip]\nframes = 16\nheight = 224\nwidth = 224\n[train]\nbatch_size = 8\n"
    )
    needs = needs_from(Wish(capture=Path("x"), job=tmp_path / "job.toml"))
    assert (needs.job, needs.cores) == ("lines", 41)
    assert needs.ram_bytes == 100 * 10**9 + 4 * 8 * 16 * 224 * 224 * 3
    audit = audit_with(Wish(capture=saved_machine(tmp_path), job=tmp_path / "job.toml"))
    bars = {item.name: item.bar_from for item in audit.items}
    assert (bars["cores-per-gpu"], bars["main-memory"]) == ("job", "job")


def test_an_answer_is_kept_with_name_and_date_and_asked_once(tmp_path: Path) -> None:
    wish = Wish(attest=("power-cooling=yes: two circuits",), by="Ada Lovelace")
    first = audit_with(wish)
    kept = read_attested(tmp_path / "attested.json")
    assert [(one.item, one.who, one.note) for one in kept] == [
        ("power-cooling", "Ada Lovelace", "two circuits")
    ]
    assert date.fromisoformat(kept[0].date)
    for audit in (first, audit_with(Wish())):
        item = next(item for item in audit.items if item.name == "power-cooling")
        assert item.status == "attested"
    audit_with(Wish(attest=("power-cooling=no",), by="Grace Hopper"))
    assert [one.who for one in read_attested(tmp_path / "attested.json")] == ["Grace Hopper"]


def test_questions_are_asked_on_a_terminal_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(UserError, match="terminal"):
        audit_with(Wish(ask=True))
    monkeypatch.setattr("sys.stdin", Terminal("Ada\n" + "\n" * 3 + "yes: seen\n" + "\n" * 9))
    audit = audit_with(
        Wish(ask=True, capture=saved_machine(tmp_path), attested=tmp_path / "a.json")
    )
    attested = [item.name for item in audit.items if item.status == "attested"]
    assert len(attested) == 1
    assert read_attested(tmp_path / "a.json")[0].note == "seen"


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (Wish(attest=("power-cooling=yes",)), "--by"),
        (Wish(attest=("power=yes",), by="A"), "filmgate audit"),
        (Wish(attest=("power-cooling",), by="A"), "--attest"),
        (Wish(dataset=Path("/nowhere/at/all")), "folder that is there"),
        (Wish(need_read="much"), "2GB"),
        (Wish(capture=Path("x.json"), attest=("backup=yes",), by="A"), "path"),
        (Wish(capture=Path("x.json"), dataset=Path("videos")), "as it is on that machine"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_a_hint(wish: Wish, said: str) -> None:
    with pytest.raises(UserError) as caught:
        audit_with(wish)
    assert said in caught.value.hint


def test_answers_about_another_machine_need_a_file_of_their_own(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="file of their own"):
        audit_with(Wish(capture=saved_machine(tmp_path), attest=("backup=yes",), by="A"))
    assert not (tmp_path / "attested.json").exists()


def test_the_page_lists_every_line_and_every_rule_with_its_source() -> None:
    page = (ROOT / "docs" / "audit.md").read_text()
    for check in CHECKS:
        assert f"| {check.name} |" in page
    for name, rule in THRESHOLDS.items():
        assert f"| {name} | {rule.value:g} {rule.unit} | {rule.source} |" in page


def test_a_machine_without_a_gpu_is_advised_nothing_about_it(
    tmp_path: Path, capsysbinary: Any
) -> None:
    path = tmp_path / "machine.json"
    path.write_bytes(msgspec.json.encode(made_server().machine()))
    text = command(capsysbinary, "machine", "show", "--capture", path)[1]
    assert "pip install" not in text
    here = read_machine(this_source())
    if not here.gpus and "pci" not in here.unknown:
        assert here.software.why("cuda_version") == "there is no NVIDIA GPU"


def test_codecs_of_a_gpu_stand_apart_where_there_is_none() -> None:
    rows = dict(machine_rows(read_machine(this_source())))
    for name in ("video decoders", "video encoders"):
        usable, _, idle = rows[name].partition("; not without an NVIDIA GPU: ")
        if rows["GPUs"] == "none" and idle:
            assert "cuvid" not in usable and "nvenc" not in usable
            assert all(one.endswith(("_cuvid", "_nvenc")) for one in idle.split(", "))

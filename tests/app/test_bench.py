from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from filmgate.app import bench as bench_module
from filmgate.app.bench import Given, machine_measured, measure_all
from filmgate.app.cli import run_command_line
from filmgate.app.show_bench import format_value, spread_words
from filmgate.app.terminal import Talk
from filmgate.bench.ground import ground_of
from filmgate.errors import UserError
from filmgate.machine.measured import PARTS, BenchPart, MachineMeasured, measure_of
from filmgate.records import read_record, write_record
from tests.footage import write_video


def command(capsysbinary: Any, *arguments: str | Path) -> tuple[int, str, str]:
    code = run_command_line([str(argument) for argument in arguments])
    captured = capsysbinary.readouterr()
    return code, captured.out.decode(), captured.err.decode()


def measured(folder: Path, *parts: BenchPart) -> Path:
    path = folder / "bench.json"
    write_record(path, machine_measured(parts, quick=True))
    return path


def storage_of(rate: float) -> BenchPart:
    read = measure_of("loader-read", "bytes/s", [rate], definition="bytes over time")
    return BenchPart(
        name="storage", status="measured", measures=[read], facts={"filesystem": "ext4 on md0"}
    )


def feed_of(supply: float, demand: float, read: float) -> BenchPart:
    values = {"supply": supply, "demand": demand, "read": read}
    measures = [
        measure_of(name, "bytes/s" if name == "read" else "clips/s", [value], definition="said")
        for name, value in values.items()
    ]
    return BenchPart(name="feed", status="measured", measures=measures)


SLEEPS = ["sh", "-c", "exec sleep 1000"]


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_storage_is_measured_shown_kept_and_put_on_a_page(
    tmp_path: Path, capsysbinary: Any
) -> None:
    try:
        ground_of(tmp_path)
    except UserError as error:
        pytest.skip(error.message)
    out, page = tmp_path / "bench.json", tmp_path / "bench.html"
    code, text, _ = command(
        capsysbinary, "bench", "storage", "--dir", tmp_path, "--size", "32MiB", "--quick",
        "--out", out, "--page", page,
    )  # fmt: skip
    assert code == 0
    assert "sequential-read" in text
    record = read_record(out, MachineMeasured)
    assert record.is_quick
    assert record.measure("storage", "random-128k-read") is not None
    assert "sequential-read" in page.read_text()
    assert page.read_text().count("<circle") == sum(
        max(2, one.repetitions) for part in record.parts for one in part.measures
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench.html", "bench.json"]


def test_storage_in_memory_ends_with_exit_code_2(capsysbinary: Any) -> None:
    if not Path("/dev/shm").is_dir():
        pytest.skip("/dev/shm is not there")
    code, text, talk = command(capsysbinary, "bench", "storage", "--dir", "/dev/shm", "--json")
    assert code == 2
    assert json.loads(text)["header"]["schema"] == "filmgate.failure"
    assert "error: /dev/shm lies on tmpfs, which is main memory" in talk
    assert "hint: name a folder on a drive" in talk


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--dir", "no-such-folder"), "is no folder"),
        (("no-such-file",), "does not exist"),
        (("--size", "big"), "--size: "),
        (("--size", "1MB"), "is below 16 MiB"),
        (("--step-ms", "10"), "but of no catalog"),
        ((".", "--dir", "."), "were both named"),
    ],
)
def test_what_does_not_go_together_is_refused(
    words: tuple[str, ...], said: str, capsysbinary: Any
) -> None:
    code, _, talk = command(capsysbinary, "bench", "storage", *words)
    assert code == 2
    assert said in talk


def test_the_feed_is_benched_under_both_names(tmp_path: Path, capsysbinary: Any) -> None:
    write_video(tmp_path / "a.mp4", num_frames=80)
    job = tmp_path / "job.toml"
    job.write_text('[clip]\nframes = 4\nheight = 32\nwidth = 32\n[data]\ntarget = "none"\n')
    options = ("--step-ms", "1", "--seconds", "0.2", "--workers", "0", "--json")
    records = []
    for name in (("bench", "feed"), ("feed", "bench")):
        code, text, talk = command(
            capsysbinary, *name, tmp_path / "a.mp4", *options, "--out", tmp_path / "bench.json"
        )
        assert code == 0, talk
        records.append(json.loads(text))
    assert records[0].keys() == records[1].keys()
    record = read_record(tmp_path / "bench.json", MachineMeasured)
    supply = record.measure("feed", "supply")
    assert supply is not None
    assert supply.median == records[1]["supply_clips_per_second"]


def test_a_part_that_fails_is_named_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_module, "command_of", lambda name, words: [
        "sh", "-c", "echo 'error: the disk is on fire' >&2; exit 2"
    ] if name == "storage" else ["sh", "-c", "kill -9 $$"])  # fmt: skip
    given = Given(words={"storage": (), "memory": ()})
    record = measure_all(given, Talk(quiet=True), quick=True)
    assert [(part.name, part.status, part.why) for part in record.parts] == [
        ("storage", "could not measure", "the disk is on fire"),
        ("memory", "could not measure", "its process ended with signal SIGKILL"),
    ]


def test_a_part_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_module, "command_of", lambda name, words: SLEEPS)
    monkeypatch.setattr(bench_module, "DEADLINE_TIMES", 0.01)
    record = measure_all(Given(words={"sync": ()}), Talk(quiet=True), quick=True)
    assert record.parts[0].why.startswith("it had not ended after")


@pytest.mark.slow
def test_every_part_is_measured_in_a_process_of_its_own(tmp_path: Path, capsysbinary: Any) -> None:
    out = tmp_path / "bench.json"
    code, _, talk = command(capsysbinary, "bench", "all", tmp_path, "--quick", "--out", out)
    assert code == 0, talk
    assert [part.name for part in read_record(out, MachineMeasured).parts] == list(PARTS)


def test_an_audit_takes_need_and_measured_rate_from_a_bench(
    tmp_path: Path, capsysbinary: Any
) -> None:
    path = measured(tmp_path, storage_of(3e8), feed_of(10, 20, 1e8))
    for told, status in ((), "ok"), (("--need-read", "280MB"), "warn"), (
        ("--need-read", "400MB"), "fail",
    ):  # fmt: skip
        _, text, _ = command(
            capsysbinary, "audit", "--bench", path, *told, "--json",
            "--attested", tmp_path / "attested.json",
        )  # fmt: skip
        audit = json.loads(text)
        item = next(one for one in audit["items"] if one["name"] == "read-rate")
        assert item["status"] == status
        assert "by loader-read of the bench of" in item["evidence"]
        assert "ext4 on md0" in item["evidence"]
    assert audit["needs"]["read_bytes_per_second"] == 4e8


def test_figures_stand_below_a_machines_facts(tmp_path: Path, capsysbinary: Any) -> None:
    path = measured(tmp_path, storage_of(3e8), BenchPart(
        name="sync", status="not present", why="one GPU"))  # fmt: skip
    page = tmp_path / "machine.html"
    code, text, _ = command(capsysbinary, "machine", "show", "--bench", path, "--page", page)
    assert code == 0
    assert "loader-read" in text
    assert "sync: not present: one GPU" in text
    assert "storage: loader-read" in page.read_text()
    assert "Nothing here is measured" not in page.read_text()
    assert command(capsysbinary, "machine", "show", "--bench", path, "--json")[0] == 2


def test_figures_of_another_machine_are_refused(tmp_path: Path, capsysbinary: Any) -> None:
    path = measured(tmp_path, storage_of(3e8))
    record = json.loads(path.read_text())
    record["identity"]["num_cpus"] = 100_000
    path.write_text(json.dumps(record))
    code, _, talk = command(capsysbinary, "audit", "--bench", path)
    assert code == 2
    assert "was measured on another machine: num_cpus is 100000 there" in talk


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (1.23e9, "bytes/s", "1.23 GB/s"), (7.94e14, "FLOP/s", "794 TFLOP/s"),
        (0.5, "share", "50 %"), (84.4, "frames/s", "84.4 frames/s"), (0.0123, "s", "12.3 ms"),
        (123456.7, "files/s", "123457 files/s"),
    ],
)  # fmt: skip
def test_values_are_told_with_their_units(value: float, unit: str, words: str) -> None:
    assert format_value(value, unit) == words


def test_a_spread_is_told_with_the_number_of_values() -> None:
    one = measure_of("read", "bytes/s", [1e9, 3e9, 2e9], definition="bytes over time")
    assert spread_words(one) == "3 of 1 GB/s to 3 GB/s"
    assert spread_words(measure_of("read", "s", [1.0], definition="time")) == "measured once"

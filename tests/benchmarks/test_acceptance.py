from __future__ import annotations

import json
import platform
import re
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from benchmarks.acceptance import __main__ as harness
from benchmarks.acceptance.check import Check, Outcome, all_hold, check, checks_of, not_measured
from benchmarks.acceptance.frames import differences
from benchmarks.acceptance.place import Place, read_framemd5
from benchmarks.acceptance.report import Report, result_of, write_report
from benchmarks.machine import kind_of, this_machine, this_software
from filmgate.records import read_record
from tests.footage import write_video


@check(name="one", topic="Tests", line="One is one.", bar="1")
def one(place: Place) -> Outcome:
    return Outcome(figure="1", holds=True)


@check(name="breaks-off", topic="Tests", line="Nothing breaks off.", bar="none")
def breaks_off(place: Place) -> Outcome:
    raise RuntimeError("half way")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(folder=tmp_path, corpus=None)


def test_names_of_checks_are_unique_words_with_dashes() -> None:
    names = [each.name for each in harness.CHECKS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)


@pytest.mark.parametrize("each", harness.CHECKS, ids=lambda each: each.name)
def test_a_check_says_its_promise_in_a_sentence_and_its_bar(each: Check) -> None:
    assert each.line.endswith(".")
    assert each.topic
    assert each.bar


def test_checks_are_found_in_the_order_in_which_they_are_written() -> None:
    module = ModuleType("two")
    vars(module).update(second=breaks_off, other=1, first=one)
    assert [each.name for each in checks_of([module])] == ["breaks-off", "one"]


def test_many_cases_hold_only_when_none_missed() -> None:
    assert all_hold([], of=3, what="files") == Outcome(figure="3 of 3 files", holds=True)
    missed = all_hold(["b is wrong"], of=3, what="files")
    assert (missed.figure, missed.holds, missed.details) == (
        "2 of 3 files",
        False,
        ("b is wrong",),
    )


def test_a_check_without_means_neither_holds_nor_misses() -> None:
    outcome = not_measured("no ffmpeg")
    assert outcome.holds is None
    assert "no ffmpeg" in outcome.figure


def test_a_check_that_breaks_off_is_a_miss_that_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = harness.measure(breaks_off)
    assert result.holds is False
    assert result.figure == "broke off: RuntimeError: half way"
    assert "MISSES       breaks-off: broke off" in capsys.readouterr().out


def test_an_unknown_name_is_refused_with_the_names_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert harness.main(["no-such"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "error: no check no-such" in captured.err
    assert "start-up" in captured.err


def test_a_report_keeps_the_newest_result_of_each_check(tmp_path: Path) -> None:
    first = write_report(
        [
            result_of(one, Outcome(figure="0", holds=False), 1.0),
            result_of(breaks_off, not_measured("later"), 1.0),
        ],
        tmp_path,
    )
    second = write_report([result_of(one, Outcome(figure="1", holds=True), 2.0)], tmp_path)
    assert first == second
    report = read_record(second, Report)
    assert {r.name: r.figure for r in report.results} == {
        "one": "1",
        "breaks-off": "not measured: later",
    }


def test_a_report_is_named_by_kind_of_machine_and_day(tmp_path: Path) -> None:
    path = write_report([], tmp_path)
    assert re.fullmatch(r"acceptance_[a-z0-9-]+_\d{4}-\d\d-\d\d\.json", path.name)
    assert kind_of(this_machine()) in path.name


def test_machine_facts_do_not_name_the_machine() -> None:
    facts = msgspec.json.encode([this_machine(), this_software()]).decode()
    assert platform.node() not in json.loads(facts)[0].values()
    assert platform.node() not in facts or len(platform.node()) < 3


def test_a_hash_listing_is_read_without_its_header() -> None:
    listing = "#format\n#tb 0: 1/25\n0, 0, 0, 1, 9216, aa11\n0, 1, 1, 1, 9216, bb22\n"
    assert read_framemd5(listing) == ["aa11", "bb22"]


def test_one_wrong_hash_and_one_missing_frame_are_noticed(place: Place) -> None:
    video = write_video(place.folder / "clip.mp4", num_frames=12)
    hashes = [frame["md5"] for frame in place.record("frames", video, "--md5")["frames"]]
    assert list(differences(place, video, hashes)) == []
    in_order, at_random = differences(place, video, [*hashes[:5], "0" * 32, *hashes[6:]])
    assert in_order == "clip.mp4 in order: 1 of 12 frames differ, first at 5"
    assert at_random == "clip.mp4 --order random --seed 1: 1 of 12 frames differ, first at 5"
    in_order, _ = differences(place, video, [*hashes, "one more"])
    assert in_order == "clip.mp4 in order: 12 frames, expected 13"

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.footage import NUM_FRAMES, NUM_VIDEOS
from benchmarks.machine import this_machine, this_software
from benchmarks.peer_readers.clips import Clip, checked_clips, random_clips, random_visits
from benchmarks.peer_readers.compare import (
    AROUND,
    Check,
    beside,
    cells_of,
    check,
    with_neighbours,
)
from benchmarks.peer_readers.lines import LINES, judge
from benchmarks.peer_readers.process import ReaderProcess
from benchmarks.peer_readers.readers import READERS
from benchmarks.peer_readers.report import page, write_reports
from benchmarks.peer_readers.result import Judged, PeersReport, RowResult, row_result
from benchmarks.peer_readers.rounds import Turn
from benchmarks.peer_readers.rows import FULL, OURS, QUICK, ROWS, TORCHCODEC, ask_of
from benchmarks.peer_readers.task import Answer, Setup
from benchmarks.peers import main
from filmgate.records import Header
from tests.footage import picture

ROW = ROWS[0]
CLIPS = [Clip(video=0, frames=[10, 14, 18])]


def pixels(clips: list[Clip], *, brighter: int = 0) -> np.ndarray:
    rows = [[picture(index, 96, 64) for index in clip.frames] for clip in clips]
    return cells_of(np.clip(np.array(rows).astype(int) + brighter, 0, 255).astype(np.uint8))


def turn(label: str, theirs: float | None, before: float, after: float) -> Turn:
    sides = {"before": {OURS: of(before)}, "after": {OURS: of(after)}}
    return Turn(label=label, answer=of(theirs), **sides)


def of(rate: float | None) -> Answer:
    if rate is None:
        return Answer(missing="not installed: no module none")
    return Answer(clips=10, cpu_seconds=10 / rate, wall_seconds=20 / rate, others_cores=0.5)


def row_of(rounds: list[list[Turn]], wrong: tuple[str, ...] = ()) -> RowResult:
    checks = {
        ("source", turn.label): Check(
            frames=72, wrong=9 * (turn.label in wrong), far=0, mean_difference=1.0
        )
        for turn in rounds[0]
    }
    return row_result(ROW, QUICK, rounds, checks, (0.1, 1.1))


def line_of(row: RowResult, name: str) -> Judged:
    return next(line for line in judge([row]) if line.name == name)


def test_clips_depend_on_the_seed_alone_and_lie_inside_the_videos() -> None:
    clips = random_clips(50, 3)
    assert clips == random_clips(50, 3) != random_clips(50, 4)
    assert all(0 <= clip.video < NUM_VIDEOS for clip in clips)
    assert all(clip.frames[0] >= 0 and clip.frames[-1] < NUM_FRAMES for clip in clips)
    assert all(clip.frames[0] % 4 == 0 for clip in random_clips(50, 3, multiple_of=4))


def test_a_visit_is_four_clips_of_one_video() -> None:
    clips = random_visits(6, 3)
    assert all(len({c.video for c in clips[at : at + 4]}) == 1 for at in range(0, 24, 4))


def test_frames_are_checked_in_every_video_and_at_both_ends() -> None:
    clips = checked_clips(3)
    assert [clip.video for clip in clips] == list(range(NUM_VIDEOS))
    assert clips[0].frames[0] == 0
    assert clips[1].frames[-1] == NUM_FRAMES - 1


def test_frames_that_look_a_little_different_are_right() -> None:
    found = check(pixels(CLIPS, brighter=3), pixels(with_neighbours(CLIPS)))
    assert (found.frames, found.wrong, found.far) == (3, 0, 0)
    assert 1 < found.mean_difference < 4


def test_the_frame_next_to_the_wanted_one_is_wrong() -> None:
    found = check(pixels(beside(CLIPS), brighter=3), pixels(with_neighbours(CLIPS)))
    assert found.wrong == 3


def test_a_picture_of_something_else_is_far() -> None:
    reference = pixels(with_neighbours(CLIPS))
    black = np.zeros_like(reference[:, :: 1 + len(AROUND)])
    found = check(black, reference)
    assert found.far + found.wrong == 3


def test_pictures_of_two_sizes_have_the_same_cells() -> None:
    small = np.arange(180 * 320 * 3, dtype=np.uint32).reshape(1, 1, 180, 320, 3) // 700
    large = small.repeat(2, axis=2).repeat(2, axis=3)
    cells = cells_of(small.astype(np.uint8)), cells_of(large.astype(np.uint8))
    assert np.allclose(*cells, atol=1e-3)


def test_all_readers_of_a_layout_get_the_same_clips_in_a_round_and_others_in_the_next() -> None:
    entries = (*ROW.ours, *ROW.others)
    first, second = ({str(ask_of(one, QUICK, number)) for one in entries} for number in (0, 1))
    assert len(first) == len(second) == 1
    assert first != second


def test_a_ratio_is_taken_from_samples_side_by_side() -> None:
    # The machine was twice as slow in the second round; side by side that does not show.
    rounds = [[turn("PyAV, opened", 2.0, 4.0, 4.0)], [turn("PyAV, opened", 1.0, 2.0, 2.0)]]
    row = row_of(rounds)
    pyav = next(one for one in row.others if one.label == "PyAV, opened")
    assert pyav.ratio(OURS) == pytest.approx(2.0)
    assert pyav.spread == pytest.approx(1 / 1.5)
    assert pyav.others_cores == 0.5
    assert line_of(row, "source-others").holds is True


def test_the_fastest_form_decides_and_a_loss_is_a_loss() -> None:
    opened, kept = "torchcodec exact, opened", "torchcodec exact, kept"
    line = line_of(
        row_of([[turn(opened, 2.0, 6.0, 6.0), turn(kept, 4.0, 6.0, 6.0)]]), "source-torchcodec"
    )
    assert line.against == kept
    assert line.figure == pytest.approx(1.5)
    assert line.holds is False
    assert line.reaches_aim is False


def test_a_form_that_gives_wrong_frames_does_not_count_and_is_named() -> None:
    right, wrong = "torchcodec exact, kept", "torchcodec approximate, kept"
    rounds = [[turn(right, 2.0, 6.0, 6.0), turn(wrong, 4.0, 6.0, 6.0)]]
    line = line_of(row_of(rounds, wrong=(wrong,)), "source-torchcodec")
    assert line.against == right
    assert "9 of 72 frames" in line.left_out[wrong]


def test_a_line_without_anybody_to_compare_with_has_no_figure_and_says_why() -> None:
    row = row_of([[turn(name, None, 6.0, 6.0) for name in TORCHCODEC]])
    line = line_of(row, "source-torchcodec")
    assert (line.figure, line.holds) == (None, None)
    assert line.why_not is not None
    assert "not installed" in line.why_not
    assert {line.why_not for line in judge([]) if line.why_not} == {
        f"row {line.row} was not measured" for line in LINES
    }


def test_a_round_in_which_filmgate_breaks_off_never_holds() -> None:
    good = turn("PyAV, opened", 2.0, 6.0, 6.0)
    broken = Turn(
        label="PyAV, opened",
        answer=of(2.0),
        before={OURS: of(6.0)},
        after={OURS: Answer(error="its process ended with -11")},
    )
    line = line_of(row_of([[good], [good], [broken]]), "source-others")
    assert line.figure == pytest.approx(3.0)
    assert line.holds is False
    assert line.why_not == "its process ended with -11"


def test_a_reader_that_is_not_installed_stays_in_the_table(tmp_path: Path) -> None:
    rounds = [[turn("PyAV, opened", 2.0, 3.0, 3.0), turn("SPDL, opened", None, 3.0, 3.0)]]
    row = row_of(rounds)
    report = PeersReport(
        header=Header(schema="filmgate.benchmark.peers", schema_version=2),
        machine=this_machine(),
        software=this_software(),
        size=QUICK.name,
        rounds=1,
        seconds=61.0,
        lines=judge([row]),
        rows=[row],
        frames={"source": {"PyAV, opened": check(pixels(CLIPS), pixels(with_neighbours(CLIPS)))}},
    )
    text = page(report, "picture.svg")
    assert "not installed: no module none" in text
    assert "| 1.5 (1.5 to 1.5) | 1.35 | 1.6 | holds |" in text
    paths = write_reports(report, tmp_path)
    assert [path.suffix for path in paths] == [".json", ".md", ".svg"]
    assert all(path.stat().st_size for path in paths)


def test_rows_have_names_of_their_own_and_readers_that_exist() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    for row in ROWS:
        entries = (*row.ours, *row.others_of(FULL))
        assert {entry.reader for entry in entries} <= set(READERS)
        assert len({entry.label for entry in entries}) == len(entries)


def test_a_row_that_does_not_exist_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "nothing"]) == 2
    assert "hint: one of source" in capfd.readouterr().err


def test_a_process_that_ends_is_told_and_started_again(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no such decoder >&2; exit 3\n")
    python.chmod(0o755)
    setup = Setup(entry=ROW.ours[0], paths=[], catalog="", mappings="", stream=[])
    process = ReaderProcess(str(python), setup)
    try:
        for _ in range(2):
            answer = process.ask(ask_of(ROW.ours[0], QUICK, 0))
            assert answer.error == "its process ended with 3: no such decoder"
    finally:
        process.close()


def test_every_line_names_readers_of_its_row() -> None:
    rows = {row.name: row for row in ROWS}
    for line in LINES:
        row = rows[line.row]
        assert line.ours in {entry.label for entry in row.ours}
        assert set(line.against) <= {entry.label for entry in row.others_of(FULL)}
        assert not line.against or set(line.against) & {entry.label for entry in row.others}

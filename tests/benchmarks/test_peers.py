from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.footage import NUM_FRAMES, NUM_VIDEOS
from benchmarks.machine import this_machine, this_software
from benchmarks.peers.clips import Clip, random_clips, random_visits
from benchmarks.peers.compare import AROUND, beside, check, with_neighbours
from benchmarks.peers.readers import READERS
from benchmarks.peers.report import page, write_reports
from benchmarks.peers.result import PeersReport, row_result
from benchmarks.peers.rounds import Turn
from benchmarks.peers.rows import ROWS
from benchmarks.peers.task import Answer
from filmgate.records import Header
from tests.footage import picture

ROW = ROWS[0]
CLIPS = [Clip(video=0, frames=[10, 14, 18])]


def pixels(clips: list[Clip], *, brighter: int = 0) -> np.ndarray:
    rows = [[picture(index, 96, 64) for index in clip.frames] for clip in clips]
    return np.clip(np.array(rows).astype(int) + brighter, 0, 255).astype(np.uint8)


def turn(reader: str, theirs: float | None, before: float, after: float) -> Turn:
    return Turn(reader=reader, answer=of(theirs), before=of(before), after=of(after))


def of(rate: float | None) -> Answer:
    if rate is None:
        return Answer(missing="not installed: no module none")
    return Answer(clips=10, cpu_seconds=10 / rate, wall_seconds=20 / rate)


def test_clips_depend_on_the_seed_alone_and_lie_inside_the_videos() -> None:
    clips = random_clips(50, 3)
    assert clips == random_clips(50, 3) != random_clips(50, 4)
    assert all(0 <= clip.video < NUM_VIDEOS for clip in clips)
    assert all(clip.frames[0] >= 0 and clip.frames[-1] < NUM_FRAMES for clip in clips)
    assert all(clip.frames[0] % 4 == 0 for clip in random_clips(50, 3, multiple_of=4))


def test_a_visit_is_four_clips_of_one_video() -> None:
    clips = random_visits(6, 3)
    assert all(len({c.video for c in clips[at : at + 4]}) == 1 for at in range(0, 24, 4))


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


def test_a_ratio_is_taken_from_samples_side_by_side() -> None:
    # The machine was twice as slow in the second round; side by side that does not show.
    rounds = [[turn("PyAV, opened", 2.0, 4.0, 4.0)], [turn("PyAV, opened", 1.0, 2.0, 2.0)]]
    result = row_result(ROW, rounds, 10)
    assert result.ratio == pytest.approx(2.0)
    assert result.others[0].spread == pytest.approx(1 / 1.5)
    assert result.holds is True


def test_the_fastest_other_decides_and_a_loss_is_a_loss() -> None:
    rounds = [[turn("PyAV, opened", 2.0, 3.0, 3.0), turn("SPDL, opened", 4.0, 3.0, 3.0)]]
    result = row_result(ROW, rounds, 10)
    assert result.fastest == "SPDL, opened"
    assert result.ratio == pytest.approx(0.75)
    assert result.holds is False


def test_a_reader_that_is_not_installed_stays_in_the_table(tmp_path: Path) -> None:
    rounds = [[turn("PyAV, opened", 2.0, 3.0, 3.0), turn("SPDL, opened", None, 3.0, 3.0)]]
    report = PeersReport(
        header=Header(schema="filmgate.benchmark.peers", schema_version=1),
        machine=this_machine(),
        software=this_software(),
        rounds=1,
        rows=[row_result(ROW, rounds, 10)],
        frames={"source": {"PyAV, opened": check(pixels(CLIPS), pixels(with_neighbours(CLIPS)))}},
    )
    text = page(report, "picture.svg")
    assert "| SPDL, opened | not installed: no module none |" in text
    paths = write_reports(report, tmp_path)
    assert [path.suffix for path in paths] == [".json", ".md", ".svg"]
    assert all(path.stat().st_size for path in paths)


def test_rows_have_names_of_their_own_and_readers_that_exist() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert {reader for row in ROWS for reader in (row.ours, *row.others)} <= set(READERS)

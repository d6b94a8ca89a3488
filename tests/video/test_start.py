"""Wherever the clock of a file begins, frame 0 is the first displayed frame and time 0 its time."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from filmgate.video import VideoReader, native_md5, probe
from tests.patience import PATIENT_SECONDS
from tests.video import recipes
from tests.video.test_exact import needs_ffmpeg

STARTS = [
    "r00", "r01", "r01_late", "r12", "r03", "hevc_cut_at_cra", "ts_no_key_first", "ts_h264",
    "x264_late_start", "x264_late_start_mp4", "x264_negative_times", "x264_no_edit_list", "mpeg1",
]  # fmt: skip


def first_shown(path: Path) -> tuple[int, str]:
    """Time (in its time base) and md5 of the first frame, as the ffmpeg command line shows it."""
    assert recipes.FFMPEG is not None
    command = [recipes.FFMPEG, "-loglevel", "quiet", "-copyts", "-i", str(path), "-map", "0:V:0",
               "-enc_time_base", "-1", "-fps_mode", "passthrough", "-frames:v", "1",
               "-f", "framemd5", "-"]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENT_SECONDS, check=True
    )
    row = done.stdout.splitlines()[-1].split(",")
    return int(row[2]), row[5].strip()


@needs_ffmpeg
@pytest.mark.parametrize("name", STARTS)
def test_frame_0_is_the_first_shown_and_time_0_is_its_time(name: str, tmp_path: Path) -> None:
    path = recipes.RECIPES[name](tmp_path)
    _, table = probe(path)
    ticks, md5 = first_shown(path)
    with VideoReader(path, table) as reader:
        (_, frame), *_ = reader.frames([0])
        assert native_md5(frame) == md5
    assert table.seconds(0) == 0.0
    assert table.frame_at(0.0) == 0
    if name not in ("r03", "ts_no_key_first"):  # no times in AVI; a cut stream's are the parser's
        assert table.pts[0] == ticks


@needs_ffmpeg
def test_a_late_start_changes_no_time_within_the_video(tmp_path: Path) -> None:
    plain = probe(recipes.ts_h264(tmp_path))[1]
    late = probe(recipes.RECIPES["x264_late_start"](tmp_path))[1]
    assert late.pts[0] * late.time_base > 99
    for index in range(50):
        assert late.seconds(index) == pytest.approx(plain.seconds(index), abs=0.001)

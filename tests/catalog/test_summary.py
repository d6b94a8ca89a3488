from __future__ import annotations

from pathlib import Path

import pytest

from filmgate.catalog import CatalogSummary, index_videos, summarise
from filmgate.catalog.tiers import STAGE_FILE
from tests.footage import write_video
from tests.video.corpus import VIDEOS, needs_corpus


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> CatalogSummary:
    root = tmp_path_factory.mktemp("summary")
    (root / "a").mkdir()
    write_video(root / "a/even.mp4", num_frames=60)
    write_video(root / "a/far.mp4", num_frames=150, gop=250)
    write_video(root / "a/short.mp4", num_frames=10, width=128, height=96)
    times = [40 * k for k in range(70) if k % 7]
    write_video(root / "a/gaps.mp4", num_frames=60, pts=times)
    write_video(root / "top.avi", num_frames=60, codec="mpeg4")
    (root / "a/empty.mp4").touch()
    (root / "readme.txt").touch()
    return summarise(index_videos(root, root / "catalog", workers=0))


def test_counts_and_times_add_up(summary: CatalogSummary) -> None:
    assert (summary.num_videos, summary.num_left_out, summary.num_ignored) == (5, 1, 1)
    assert summary.num_frames == 60 + 150 + 10 + 60 + 60
    assert summary.hours == pytest.approx((2.4 + 6 + 0.4 + 2.8 + 2.4) / 3600, rel=0.02)
    assert summary.codecs == {"h264": 4, "mpeg4": 1}
    assert summary.sizes == {"96x64": 4, "128x96": 1}
    assert summary.labels == {"a": 4}
    assert summary.num_unlabelled == 1
    assert summary.left_out_reasons == {"the file is empty": 1}
    assert summary.max_frames_between_entry_points == 150


def test_what_will_cost_time_or_trouble_is_named(summary: CatalogSummary) -> None:
    warned = {warning.kind: warning for warning in summary.warnings}
    assert warned["far-apart-key-frames"].examples == ["a/far.mp4"]
    assert warned["short"].examples == ["a/short.mp4"]
    assert warned["variable-rate"].examples == ["a/gaps.mp4"]
    assert warned["mixed-sizes"].examples == ["a/short.mp4"]
    assert warned["left-out"].examples == ["a/empty.mp4"]
    assert all(warning.num_videos == 1 for warning in summary.warnings)
    assert all(warning.sentence and warning.advice for warning in summary.warnings)


@needs_corpus
def test_the_quirks_of_the_corpus_are_named(tmp_path: Path) -> None:
    synthetic = [
        VIDEOS / "synthetic" / name
        for name in (
            "R08_rot.mp4",
            "dv-pal-interlaced.mov",
            "bt2020_10bit.mp4",
            "R13_sizechange.mkv",
        )
    ]
    summary = summarise(index_videos(synthetic, tmp_path / "catalog", workers=0))
    kinds = {warning.kind for warning in summary.warnings}
    assert {"rotated", "interlaced", "deep-or-hdr", "size-changes"} <= kinds


def test_a_folder_of_copies_is_no_broken_file_to_be_fetched_again(tmp_path: Path) -> None:
    videos = tmp_path / "videos"
    (videos / "hot").mkdir(parents=True)
    write_video(videos / "a.mp4", num_frames=20)
    (videos / "hot" / STAGE_FILE).write_text("{}")
    warnings = {one.kind: one for one in summarise(index_videos(videos, tmp_path / "c")).warnings}
    assert "left-out" not in warnings
    assert warnings["passed-over"].examples == ["hot"]
    (videos / "b.mp4").write_text("no video")
    warnings = {one.kind: one for one in summarise(index_videos(videos, tmp_path / "c")).warnings}
    assert warnings["left-out"].examples == ["b.mp4"]

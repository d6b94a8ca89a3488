"""Decoding is timed on real videos, of this machine's making and of the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from filmgate.bench import decode
from filmgate.bench.ask import Ask
from filmgate.bench.decode import bench_decode, counts_up_to, groups_of
from filmgate.bench.decode_clips import MADE, Made, make_video, pictures
from filmgate.bench.decode_timing import RandomClips, time_frames
from filmgate.catalog import index_videos
from filmgate.errors import UserError
from filmgate.machine.measured import BenchPart
from filmgate.prepare.encoders import why_unusable
from tests.footage import write_video


def measured(ask: Ask) -> BenchPart:
    return bench_decode(ask, lambda done, total, note="": None)


@pytest.fixture
def is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny files of our own, and little time for each."""
    monkeypatch.setattr(decode, "QUICK_SIZES", ((128, 96),))
    monkeypatch.setattr(decode, "NUM_FRAMES", 34)
    monkeypatch.setattr(decode, "LEAST_CORE_SECONDS", 0.01)
    monkeypatch.setattr(decode, "WINDOW_SECONDS", 0.05)


@pytest.mark.usefixtures("is_small")
def test_every_codec_has_figures_or_a_reason_and_all_cores_are_tried() -> None:
    part = measured(Ask(quick=True))
    for made in MADE:
        name = f"{made.codec}-128x96"
        frames, clips = part.measure(f"{name}-frames"), part.measure(f"{name}-clips")
        assert (frames is None) == (name in part.unknown)
        if frames is not None and clips is not None:
            assert frames.repetitions == clips.repetitions == 3
            assert frames.median > 0 < clips.median
            assert "by the wall clock" in frames.conditions
    for number in counts_up_to(decode.num_usable_cores()):
        assert part.measure(f"h264-128x96-clips-on-{number}") is not None


@pytest.mark.usefixtures("is_small")
def test_without_nvdec_the_reason_stands_once() -> None:
    part = measured(Ask(quick=True, device="cpu"))
    assert part.unknown["nvdec"] == "device cpu was asked for"
    assert not [name for name in part.unknown if name.endswith("-nvdec")]


@pytest.mark.usefixtures("is_small")
def test_a_codec_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    none = Made(codec="theora", encoder="no_such_encoder", options={}, suffix=".ogv")
    monkeypatch.setattr(decode, "MADE", (MADE[0], none))
    part = measured(Ask(quick=True, device="cpu"))
    assert "no_such_encoder cannot make it here" in part.unknown["theora-128x96"]
    assert part.measure("h264-128x96-frames") is not None


@pytest.mark.usefixtures("is_small")
def test_videos_of_the_users_own_are_measured_by_codec_and_size(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", num_frames=40)
    write_video(tmp_path / "b.mp4", num_frames=40, width=128, height=96, codec="mpeg4")
    names = ("h264-96x64-frames", "mpeg4-128x96-clips")
    folder = measured(Ask(quick=True, videos=(tmp_path,), device="cpu"))
    index_videos(tmp_path, tmp_path / "catalog", workers=0)
    catalog = measured(Ask(quick=True, videos=(tmp_path / "catalog",), device="cpu"))
    for part in (folder, catalog):
        assert all(part.measure(name) is not None for name in names)


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        measured(Ask(videos=(tmp_path / "none.mp4",)))


def test_rare_kinds_of_a_large_set_are_named_and_left_out(tmp_path: Path) -> None:
    for number in range(8):
        write_video(tmp_path / f"{number}.mp4", num_frames=3, width=96 + 16 * number)
    unknown: dict[str, str] = {}
    groups = groups_of(index_videos(tmp_path, tmp_path / "catalog", workers=0), unknown)
    assert len(groups) == decode.MOST_GROUPS
    assert len(unknown) == 2
    assert {group.name for group in groups}.isdisjoint(unknown)


def test_frames_in_order_are_counted_once_each(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", num_frames=30)
    catalog = index_videos(tmp_path, tmp_path / "catalog", workers=0)
    pace = time_frames(catalog, [0, 0])
    assert pace.count == 60
    assert pace.per_core_second > 0 < pace.per_second


def test_a_video_shorter_than_a_clip_repeats_its_last_frame(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", num_frames=5)
    clips = RandomClips(index_videos(tmp_path, tmp_path / "catalog", workers=0), [0], seed=0)
    with clips.reader:
        clips.read_one()


def test_the_clips_of_our_own_are_the_same_every_time() -> None:
    one, other = ([frame.copy() for frame in pictures(64, 48, 3)] for _ in range(2))
    assert all((a == b).all() for a, b in zip(one, other, strict=True))
    assert (one[0] != one[1]).any()


def test_processes_are_doubled_up_to_the_cores() -> None:
    assert [counts_up_to(n) for n in (1, 2, 3, 6, 8)] == [
        [1], [1, 2], [1, 2, 3], [1, 2, 4, 6], [1, 2, 4, 8],
    ]  # fmt: skip


@pytest.mark.gpu
def test_nvdec_has_a_figure_for_what_the_gpu_decodes(tmp_path: Path) -> None:
    made = MADE[0]
    if why_unusable(made.encoder) is not None:
        pytest.skip(f"no {made.encoder}")
    make_video(made, 640, 480, 96, tmp_path / "a.mp4")
    part = measured(Ask(quick=True, videos=(tmp_path / "a.mp4",), device="cuda"))
    name = "h264-640x480-nvdec"
    assert (part.measure(f"{name}-clips") is not None) or name in part.unknown
    assert "nvdec" not in part.unknown

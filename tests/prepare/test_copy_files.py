"""Single copies: every layout, and every kind of source, checked against what went in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from filmgate.catalog import index_videos
from filmgate.feed import ClipReader
from filmgate.prepare.check import Likeness, WrongCopy, check_copy
from filmgate.prepare.encode import write_copy
from filmgate.prepare.encoders import SOFTWARE, Encoder, why_unusable
from filmgate.prepare.pictures import copy_size, why_left_out
from filmgate.prepare.recipe import Layout, Recipe
from filmgate.prepare.times import copy_times
from filmgate.video import FrameTable, VideoFacts, probe
from tests.footage import write_video

LAYOUTS = [
    Layout(name="temporal", codec="h264", quality=20, key_every=8, reference_every=4),
    Layout(name="temporal", codec="hevc", quality=20, key_every=8, reference_every=4),
    Layout(name="temporal", codec="mpeg4", quality=3, key_every=8, reference_every=4),
    Layout(name="short-gop", codec="h264", quality=20, key_every=8),
    Layout(name="short-gop", codec="av1", quality=25, key_every=8),
    Layout(name="intra", codec="h264", quality=18),
    Layout(name="jpeg", codec="jpeg", quality=3),
    Layout(name="decoded", codec="raw", quality=0),
]


def encoder_of(layout: Layout) -> Encoder:
    return next(one for one in SOFTWARE if one.codec == layout.codec)


def make(
    source: Path, recipe: Recipe, folder: Path
) -> tuple[Path, VideoFacts, FrameTable, Likeness]:
    encoder = encoder_of(recipe.layout)
    facts, table = probe(source)
    times = copy_times(table, recipe.fps)
    path = folder / f"copy{encoder.suffix}"
    written = write_copy(source, facts, table, times, recipe, encoder, path)
    return path, *check_copy(path, times, written)


def clip(path: Path, folder: Path, frames: list[int]) -> np.ndarray:
    catalog = index_videos(path, folder, workers=0)
    with ClipReader(catalog) as reader:
        return reader.read(0, frames).astype(int)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.label)
def test_every_layout_keeps_frames_times_and_colours(layout: Layout, tmp_path: Path) -> None:
    pts = [0, 40, 75, 130, 160, 200, 241, 280, 333, 360, 400, 450, 480, 520, 560, 610, 650, 690]
    source = write_video(tmp_path / "source.mkv", num_frames=18, width=96, height=64, pts=pts)
    path, facts, table, likeness = make(source, Recipe(layout=layout), tmp_path)
    assert [round(table.seconds(number) * 1000) for number in range(18)] == pts
    assert (facts.height, facts.width) == (64, 96)
    assert table.max_frames_between_entry_points <= layout.key_every
    assert likeness.ssim > 0.9
    originals = clip(source, tmp_path / "a", [0, 5, 17])
    copies = clip(path, tmp_path / "b", [0, 5, 17])
    assert np.abs(originals - copies).mean() < 6


def test_a_decoded_copy_of_the_same_colours_is_identical(tmp_path: Path) -> None:
    source = write_video(tmp_path / "source.mp4", num_frames=5)
    recipe = Recipe(layout=LAYOUTS[-1])
    _, _, _, likeness = make(source, recipe, tmp_path)
    assert likeness.psnr_db is None and likeness.ssim == 1


def test_a_smaller_copy_keeps_the_shape_and_has_even_sides(tmp_path: Path) -> None:
    source = write_video(tmp_path / "source.mp4", num_frames=5, width=194, height=110)
    _, facts, _, _ = make(source, Recipe(layout=LAYOUTS[0], short_side=55), tmp_path)
    assert (facts.height, facts.width) == (56, 98)


def test_a_copy_is_never_larger_than_its_source(tmp_path: Path) -> None:
    source = write_video(tmp_path / "source.mp4", num_frames=5)
    facts, _ = probe(source)
    assert copy_size(facts, Recipe(layout=LAYOUTS[0], size=(720, 1280))) == (64, 96)


def test_a_copy_at_another_rate_shows_the_frames_of_those_times(tmp_path: Path) -> None:
    source = write_video(tmp_path / "source.mp4", num_frames=25, fps=25)
    recipe = Recipe(layout=LAYOUTS[-1], fps=10.0)
    path, _, table, _ = make(source, recipe, tmp_path)
    assert table.num_frames == 10 and table.seconds(9) == pytest.approx(0.9)
    frames = [0, 2, 5, 7, 10, 12, 15, 17, 20, 22]
    originals = clip(source, tmp_path / "a", frames)
    assert np.abs(originals - clip(path, tmp_path / "b", list(range(10)))).max() <= 4


def test_a_hdr_source_is_left_out_by_codecs_that_cannot_hold_it(tmp_path: Path) -> None:
    facts, _ = probe(write_video(tmp_path / "source.mp4", num_frames=5))
    hdr = VideoFacts(**{**{n: getattr(facts, n) for n in facts.__struct_fields__},
                        "color_transfer": "smpte2084"})  # fmt: skip
    jpeg = Recipe(layout=LAYOUTS[-2])
    assert "HDR" in (why_left_out(hdr, jpeg, encoder_of(jpeg.layout)) or "")
    h264 = Recipe(layout=LAYOUTS[0])
    assert why_left_out(hdr, h264, encoder_of(h264.layout)) is None


def test_a_copy_with_a_frame_missing_is_told_from_a_right_one(tmp_path: Path) -> None:
    source = write_video(tmp_path / "source.mp4", num_frames=12)
    recipe, encoder = Recipe(layout=LAYOUTS[0]), encoder_of(LAYOUTS[0])
    facts, table = probe(source)
    times = copy_times(table, None)
    path = tmp_path / "copy.mp4"
    written = write_copy(source, facts, table, times, recipe, encoder, path)
    other = write_video(tmp_path / "other.mp4", num_frames=11)
    with pytest.raises(WrongCopy, match="11 frames instead of 12"):
        check_copy(other, times, written)
    shifted = write_video(tmp_path / "shifted.mp4", num_frames=12, hue=90)
    with pytest.raises(WrongCopy, match="dB"):
        check_copy(shifted, times, written)


def test_every_software_encoder_of_the_wheel_works() -> None:
    assert [why_unusable(encoder.name) for encoder in SOFTWARE] == [None] * len(SOFTWARE)


def test_a_picture_that_is_too_small_for_an_encoder_is_left_out(tmp_path: Path) -> None:
    facts, _ = probe(write_video(tmp_path / "source.mp4", num_frames=5))
    hevc = Recipe(layout=LAYOUTS[1], short_side=32)
    assert "less than 64 pixels" in (why_left_out(facts, hevc, encoder_of(hevc.layout)) or "")


def test_copies_do_not_depend_on_what_lay_in_memory_before(tmp_path: Path) -> None:
    source = write_video(tmp_path / "source.mp4", num_frames=48, width=192, height=160)
    told = []
    for filling in ("0", "85", "170"):
        command = [sys.executable, "-m", "tests.prepare.encode_everything", source, tmp_path]
        surroundings = os.environ | {"MALLOC_PERTURB_": filling}
        told.append(
            subprocess.run(command, env=surroundings, check=True, stdout=-1, timeout=300).stdout
        )
    assert len(set(told)) == 1

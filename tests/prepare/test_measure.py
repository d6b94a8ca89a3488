"""Trying layouts: the figures are of real copies, the same stretches for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from filmgate.catalog import Catalog, index_videos
from filmgate.errors import UserError
from filmgate.prepare.candidates import candidates, reference_spacing, remarks_on
from filmgate.prepare.measure import SampleSize, measure_layouts
from filmgate.prepare.recipe import Layout, Recipe, check_recipe
from filmgate.prepare.stretches import choose_stretches
from filmgate.spec import Clip
from filmgate.spec.job import Prepare
from tests.footage import write_video

CLIP = Clip(frames=4, stride=4, height=32, width=48)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    root = tmp_path_factory.mktemp("measure")
    for number in range(3):
        path = root / f"{number}.mp4"
        write_video(path, num_frames=60, gop=60, hue=number * 40, fps=10 + 5 * number)
    return index_videos(root, root / "catalog", workers=0)


def test_each_layout_is_measured_beside_the_source(catalog: Catalog) -> None:
    recipes = [
        Recipe(layout=Layout(name="temporal", codec="h264", quality=20, key_every=16,
                             reference_every=4), size=(32, 48)),
        Recipe(layout=Layout(name="decoded", codec="raw", quality=0), size=(32, 48)),
    ]  # fmt: skip
    seen: list[tuple[int, int]] = []
    trials = measure_layouts(
        catalog, CLIP, recipes, sample=SampleSize(num_videos=2, seconds=2, rounds=1), workers=0,
        on_progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert [trial.label for trial in trials] == ["source", *[one.layout.label for one in recipes]]
    assert seen[-1] == (4, 4)
    for trial in trials:
        assert trial.why_not is None
        assert trial.clips_per_cpu_second and trial.bytes and trial.read_bytes_per_clip
    decoded = trials[2]
    assert decoded.likeness is not None and decoded.likeness.psnr_db is None
    assert decoded.video_seconds == trials[0].video_seconds
    num_frames = sum(one.num_frames for one in choose_stretches(catalog, CLIP, 2, 2))
    assert (decoded.bytes or 0) > num_frames * 32 * 48 * 3 // 2


def test_a_layout_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", num_frames=60, options={"color_trc": "smpte2084"})
    catalog = index_videos(tmp_path, tmp_path / "catalog", workers=0)
    jpeg = Recipe(layout=Layout(name="jpeg", codec="jpeg", quality=4))
    trial = measure_layouts(
        catalog, CLIP, [jpeg], sample=SampleSize(num_videos=1, seconds=1, rounds=1), workers=0
    )[1]
    assert trial.clips_per_cpu_second is None
    assert trial.why_not == "a.mp4: it is HDR (smpte2084), which mjpeg cannot hold"


def test_stretches_are_spread_over_bit_rates_and_hold_two_clips(catalog: Catalog) -> None:
    stretches = choose_stretches(catalog, CLIP, 3, 0.1)
    assert sorted(one.row for one in stretches) == [0, 1, 2]
    assert all(one.num_frames == 2 * 13 for one in stretches)


def test_a_set_without_a_video_for_a_clip_is_refused(catalog: Catalog) -> None:
    with pytest.raises(UserError, match="no video is long enough for a clip of 400 frames"):
        choose_stretches(catalog, Clip(frames=400, stride=1), 3, 1)


@pytest.mark.parametrize(("stride", "spacing"), [(1, 1), (2, 2), (3, 1), (4, 4), (6, 2), (16, 8)])
def test_references_lie_where_clips_of_the_stride_look(stride: int, spacing: int) -> None:
    assert reference_spacing(Clip(frames=8, stride=stride), None) == spacing


def test_candidates_are_recipes_that_contradict_nothing() -> None:
    recipes = candidates(CLIP)
    for recipe in recipes:
        check_recipe(recipe)
    assert {recipe.layout.name for recipe in recipes} == {
        "temporal", "short-gop", "intra", "jpeg", "decoded",
    }  # fmt: skip


def test_references_that_key_frames_do_not_fall_on_are_refused() -> None:
    with pytest.raises(UserError, match="every 16 frames do not fall on references every 3"):
        candidates(CLIP, Prepare(reference_every=3))


def test_a_quality_that_some_codecs_lack_rules_out_these_alone_and_says_so() -> None:
    prepare = Prepare(quality=40, key_every=8, reference_every=2)
    recipes = candidates(CLIP, prepare)
    for recipe in recipes:
        check_recipe(recipe)
    assert "h264" in {recipe.layout.codec for recipe in recipes}
    assert not {"mpeg4", "jpeg"} & {recipe.layout.codec for recipe in recipes}
    assert remarks_on(prepare, recipes) == [
        "no mpeg4: its quality goes from 2 to 31, and 40 was asked for",
        "no jpeg: its quality goes from 2 to 31, and 40 was asked for",
        "quality does not concern decoded: raw frames have none",
        "key_every does not concern intra, decoded: there each frame is by itself",
        "reference_every does not concern short-gop, intra, decoded: only temporal has references "
        "apart",
    ]


def test_what_holds_for_every_layout_needs_no_remark() -> None:
    assert remarks_on(Prepare(), candidates(CLIP)) == []
    prepare = Prepare(quality=20, key_every=8, codec="hevc")
    assert remarks_on(prepare, candidates(CLIP, prepare)) == []


def test_a_quality_beyond_the_encoder_is_refused_and_not_clipped() -> None:
    layout = Layout(name="short-gop", codec="h264", quality=60, key_every=16)
    with pytest.raises(UserError, match="quality of h264 is 60, and has to be 0 to 51"):
        check_recipe(Recipe(layout=layout))

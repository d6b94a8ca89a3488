"""A frame that cannot be given right is an error with its place, never a neighbour."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from filmgate.errors import UndecodableFrame
from filmgate.video import VideoReader, frame_digests, native_md5, probe
from tests.video import recipes
from tests.video.corpus import BROKEN, VIDEOS, needs_corpus
from tests.video.test_exact import needs_ffmpeg


@needs_corpus
@pytest.mark.parametrize("order", ["sequential", "random"])
def test_every_frame_of_a_zeroed_file_is_right_or_refused(order: str) -> None:
    assert order in ("sequential", "random")
    path, sound = BROKEN / "R10_zeroed.mp4", VIDEOS / "synthetic" / "R08_rot.mp4"
    _, table = probe(path)
    whole = [row.md5 for row in frame_digests(sound, probe(sound)[1])]
    rows = list(frame_digests(path, table, order=order, seed=2))
    assert [row.index for row in rows if row.md5 is None] == [24, 25, 26, 27, 28, 29]
    assert all(row.md5 in (None, whole[row.index]) for row in rows)
    assert all("frames 20-29" in (row.fault or "") for row in rows if row.md5 is None)


@needs_ffmpeg
def test_a_zeroed_stretch_costs_only_its_own_interval(tmp_path: Path) -> None:
    path = recipes.r10(tmp_path)
    whole = [row.md5 for row in frame_digests(tmp_path / "R00.mp4", probe(tmp_path / "R00.mp4")[1])]
    _, table = probe(path)
    rows = list(frame_digests(path, table, order="random", seed=3))
    lost = [row.index for row in rows if row.md5 is None]
    assert lost
    assert len({index // 10 for index in lost}) <= 2
    assert all(row.md5 in (None, whole[row.index]) for row in rows)


@needs_ffmpeg
def test_frames_behind_a_damaged_one_can_still_be_had(tmp_path: Path) -> None:
    path = recipes.r10(tmp_path)
    _, table = probe(path)
    with VideoReader(path, table) as reader:
        got = {}
        for index in range(table.num_frames):
            try:
                got.update((i, native_md5(frame)) for i, frame in reader.frames([index]))
            except UndecodableFrame as error:
                assert error.path == path
                assert f"frame {index} " in error.reason
    assert 20 <= len(got) < 50
    assert 0 in got
    assert 49 in got


@needs_ffmpeg
def test_a_damaged_file_is_given_up_without_decoding_it_to_its_end(tmp_path: Path) -> None:
    source = recipes.SOURCE.replace("duration=2", "duration=20")
    whole = recipes.pattern(
        tmp_path / "long.mp4", *recipes.R00, "-movflags", "+faststart", source=source
    )
    content = bytearray(whole.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 3000] = bytes(3000)
    path = tmp_path / "zeroed.mp4"
    path.write_bytes(content)
    _, table = probe(path)
    lost = [row.index for row in frame_digests(path, table) if row.md5 is None]
    with VideoReader(path, table) as reader:
        with pytest.raises(UndecodableFrame):
            list(reader.frames([lost[0]]))
        assert reader.num_decoded < 60


@needs_ffmpeg
@pytest.mark.parametrize("recipe", [recipes.mpeg4_mp4, recipes.mpeg2])
def test_a_picture_that_refers_to_a_damaged_one_is_refused_too(
    tmp_path: Path, recipe: Callable[[Path], Path]
) -> None:
    path = recipe(tmp_path)
    facts, table = probe(path)
    whole = {int(row.pts): row.md5 for row in frame_digests(path, table)}
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    for at in range(middle, middle + 188 * 6):
        content[at] = 0x55 if content[at] != 0x47 else 0x47
    path.write_bytes(content)
    _, damaged = probe(path)
    rows = list(frame_digests(path, damaged))
    assert any(row.md5 is None for row in rows)
    wrong = [row.index for row in rows if row.md5 not in (None, whole.get(row.pts))]
    assert not wrong, facts.codec

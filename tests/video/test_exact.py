"""Any request in any order gives the frames of one sequential decode, bit for bit."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from filmgate.video import FrameTable, VideoFacts, VideoReader, frame_digests, native_md5, probe
from tests.footage import write_video
from tests.video import recipes
from tests.video.corpus import SOUND, needs_corpus, reference

needs_ffmpeg = pytest.mark.skipif(recipes.FFMPEG is None, reason="the ffmpeg command is not here")
LEAST_CLIPS, DECODED_PIXELS = 3, 30_000_000
"""What the quick test asks of each file; the slow one asks for every frame."""


def md5s(path: Path, table: FrameTable, order: str, seed: int = 0) -> list[str | None]:
    assert order in ("sequential", "random")
    return [row.md5 for row in frame_digests(path, table, order=order, seed=seed)]


@needs_corpus
@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.name)
def test_random_clips_of_the_corpus_equal_the_reference(path: Path) -> None:
    facts, table = probe(path)
    want = reference(path)
    assert table.num_frames == len(want)
    rng = random.Random(path.name)
    with VideoReader(path, table) as reader:
        clips = 0
        while clips < LEAST_CLIPS or _pixels(reader, facts) < DECODED_PIXELS:
            clips += 1
            stride, start = rng.choice([1, 1, 2, 4]), rng.randrange(table.num_frames)
            clip = range(start, min(table.num_frames, start + 6 * stride), stride)
            for index, frame in reader.frames(clip):
                assert native_md5(frame) == want[index], f"frame {index}"


@needs_corpus
@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.name)
def test_one_pass_over_the_corpus_equals_the_reference(path: Path) -> None:
    assert md5s(path, probe(path)[1], "sequential") == reference(path)


def _pixels(reader: VideoReader, facts: VideoFacts) -> int:
    return max(reader.num_decoded, 1) * facts.width * facts.height


@pytest.mark.slow
@needs_corpus
@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.name)
def test_every_frame_of_the_corpus_can_be_had_alone(path: Path) -> None:
    assert md5s(path, probe(path)[1], "random", seed=1) == reference(path)


@needs_ffmpeg
@pytest.mark.parametrize("name", recipes.RECIPES)
def test_every_quirk_is_exact_in_any_order(name: str, tmp_path: Path) -> None:
    path = recipes.RECIPES[name](tmp_path)
    _, table = probe(path)
    want = recipes.framemd5(path)
    assert len(want) > 0
    assert md5s(path, table, "sequential") == want
    assert md5s(path, table, "random", seed=7) == want


def test_a_file_that_is_read_from_its_start_is_exact_all_the_same(tmp_path: Path) -> None:
    path = write_video(tmp_path / "b.mp4", num_frames=40, gop=10)
    _, table = probe(path)
    want = md5s(path, table, "sequential")
    nowhere = replace(
        table.entries,
        **{name: values[:0] for name, values in vars(table.entries).items()},
    )
    table = replace(table, entries=nowhere, access="sequential", access_reason="made so")
    assert md5s(path, table, "random", seed=5) == want
    assert table.max_frames_between_entry_points == 40


@pytest.fixture(scope="module")
def kept_open(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[VideoReader, list[str]]]:
    path = write_video(tmp_path_factory.mktemp("exact") / "b.mp4", num_frames=60, gop=15)
    _, table = probe(path)
    want = [row.md5 for row in frame_digests(path, table)]
    with VideoReader(path, table) as reader:
        yield reader, [md5 for md5 in want if md5 is not None]


@settings(deadline=None, max_examples=60)
@given(wanted=st.lists(st.integers(0, 59), max_size=12))
def test_any_list_of_frames_is_exact_on_a_reader_that_stays_open(
    kept_open: tuple[VideoReader, list[str]], wanted: list[int]
) -> None:
    reader, want = kept_open
    got = {index: native_md5(frame) for index, frame in reader.frames(wanted)}
    assert got == {index: want[index] for index in wanted}

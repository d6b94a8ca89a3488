from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.errors import JobError
from filmgate.spec import Clip, Data, Job, Limits, Train, load_job, write_job
from filmgate.spec.load import parse_job

jobs = st.builds(
    Job,
    clip=st.builds(
        Clip,
        frames=st.integers(1, 64),
        stride=st.integers(1, 30),
        crop=st.sampled_from(["random", "centre"]),
        flip=st.booleans(),
    ),
    data=st.builds(Data, holdout=st.floats(0, 0.99), on_error=st.sampled_from(["raise", "skip"])),
    train=st.builds(Train, steps=st.integers(1, 10**9), learning_rate=st.floats(1e-9, 1)),
    limits=st.builds(Limits, workers=st.none() | st.integers(0, 64)),
)


@given(job=jobs)
def test_a_written_job_reads_back_as_the_same_job(
    job: Job, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("job") / "job.toml"
    write_job(path, job)
    assert load_job(path) == job


def test_an_empty_file_is_the_default_job(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text("")
    assert load_job(tmp_path / "job.toml") == Job()


def test_five_lines_are_a_job(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text('[job]\nname = "mine"\n[clip]\nframes = 4\nfps = 12.5\n')
    job = load_job(tmp_path / "job.toml")
    assert (job.job.name, job.clip.frames, job.clip.fps, job.clip.stride) == ("mine", 4, 12.5, None)


@pytest.mark.parametrize(
    ("tables", "message", "hint"),
    [
        ({"clip": {"frame": 3}}, "unknown key `frame` in [clip]", "`frames`"),
        ({"clp": {}}, "unknown table [clp]", "`clip`"),
        ({"train": {"zzz": 1}}, "allowed: steps, batch_size", "remove it"),
        ({"clip": 3}, "clip is 3, but it is a table", "[clip]"),
        (
            {"clip": {"frames": "x", "stride": 1}},
            "Expected `int`, got `str` - at `clip.frames`",
            "",
        ),
        ({"clip": {"frames": 0, "stride": 1}}, "Expected `int` >= 1", ""),
        ({"clip": {"fps": 5.0, "stride": 2}}, "one of `stride` and `fps`, got both", "stride"),
        ({"data": {"short": "drop"}}, "Invalid enum value 'drop'", ""),
    ],
)
def test_a_wrong_job_says_what_was_got_and_what_is_allowed(
    tables: dict[str, object], message: str, hint: str
) -> None:
    with pytest.raises(JobError) as caught:
        parse_job(tables)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.hint


@pytest.mark.parametrize("content", [b"a = ", b"\xff\xfe", b"[clip\n"])
def test_a_file_that_is_no_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "job.toml").write_bytes(content)
    with pytest.raises(JobError):
        load_job(tmp_path / "job.toml")


def test_a_missing_job_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(JobError) as caught:
            load_job(path)
        assert caught.value.hint


def test_a_file_of_an_editor_that_marks_utf8_is_read(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_bytes(b"\xef\xbb\xbf[train]\r\nsteps = 3\r\n")
    assert load_job(tmp_path / "job.toml").train.steps == 3


@pytest.mark.parametrize("table", ["job", "clip", "data", "train", "limits"])
def test_numbers_that_no_library_takes_are_refused(table: str) -> None:
    others = {"clip": {"stride": 1}}.get(table, {})
    for name, value in msgspec.to_builtins(getattr(Job(), table)).items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        for number in (10**30, -1, float("inf"), float("nan")):
            with pytest.raises(JobError):
                parse_job({table: others | {name: number}})
    for name in ("fps", "workers", "train_threads"):
        if hasattr(getattr(Job(), table), name):
            for number in (10**9 + 1, float("inf"), 1e-12):
                with pytest.raises(JobError):
                    parse_job({table: {name: number}})


def test_every_field_of_the_job_has_a_default() -> None:
    assert msgspec.convert({}, Job) == Job()


def test_a_clip_without_stride_and_fps_has_the_default_stride() -> None:
    assert parse_job({"clip": {"frames": 4}}).clip == Clip(frames=4, stride=2)
    assert parse_job({"clip": {"sampling": "uniform"}}).clip.stride is None


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"augment": {"erasing_scale": [0.5, 0.1], "erasing_probability": 1.0}}, "lower number"),
        ({"augment": {"crop_scale": [0.5, 1.0]}}, 'crop = "random-resized" in [clip]'),
        ({"augment": {"erasing_ratio": [1.0, 2.0]}}, "erasing_probability above 0"),
        ({"augment": {"mix_probability": 0.5}}, "mixup_alpha or cutmix_alpha above 0"),
        ({"augment": {"cutmix_probability": 1.0, "mixup_alpha": 1.0}}, "and cutmix_alpha above 0"),
        ({"augment": {"mixup_alpha": 1.0}, "train": {"batch_size": 5}}, "batch_size is 5"),
        ({"augment": {"crop_scale": [0.0, 1.0]}}, "> 0.0"),
        ({"augment": {"crop_scale": [0.1]}}, "length 2"),
        ({"augment": {"hue": 0.6}}, "<= 0.5"),
        ({"augment": {"mixup": 0.6}}, "unknown key `mixup`"),
        ({"data": {"weights": "class-balance"}}, "weights"),
    ],
)
def test_augmentation_that_cannot_be_or_does_nothing_is_refused(
    tables: dict[str, object], message: str
) -> None:
    with pytest.raises(JobError) as caught:
        parse_job(tables)
    assert message in caught.value.message
    assert caught.value.hint


def test_a_file_of_weights_lies_beside_the_job_file_and_means_the_same_anywhere(
    tmp_path: Path,
) -> None:
    (tmp_path / "job.toml").write_text('[data]\nweights = "weights.csv"\n')
    job = load_job(tmp_path / "job.toml")
    assert job.data.weights == str(tmp_path / "weights.csv")
    (tmp_path / "run").mkdir()
    write_job(tmp_path / "run" / "job.toml", job)
    assert load_job(tmp_path / "run" / "job.toml") == job

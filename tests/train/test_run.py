from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import nn

from filmgate.catalog import Catalog, index_videos
from filmgate.errors import FeedError, Interrupted, UserError
from filmgate.records.telemetry import (
    AnyLine,
    Evaluation,
    FeedSnapshot,
    Finish,
    Save,
    Start,
    newest_steps,
    read_telemetry,
)
from filmgate.spec import Job
from filmgate.stopping import REPEAT_SECONDS
from filmgate.train import TrainResult
from filmgate.train.run import train_run
from tests.footage import write_video
from tests.train.conftest import a_job


def dropout_model(job: Job, num_classes: int) -> nn.Module:
    """Draws random numbers in every step, so that a resume must restore the generators."""
    return nn.Sequential(
        nn.Flatten(2),
        nn.Linear(3 * job.clip.height * job.clip.width, 16),
        nn.Dropout(0.5),
        nn.Flatten(1),
        nn.Linear(16 * job.clip.frames, num_classes),
    )


class DivergingModel(nn.Module):
    """Gives logits that are no numbers from its seventh step on."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(1, num_classes)
        self.num_calls = 0

    def forward(self, frames_BTCHW: torch.Tensor) -> torch.Tensor:
        self.num_calls += 1
        logits_BK: torch.Tensor = self.linear(frames_BTCHW.mean(dim=(1, 2, 3, 4))[:, None])
        return logits_BK * (torch.nan if self.num_calls >= 7 else 1)


def diverging_model(job: Job, num_classes: int) -> nn.Module:
    return DivergingModel(num_classes)


def two_dimensional_model(job: Job, num_classes: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(2), nn.Linear(3 * 32 * 32, num_classes))


def narrow_model(job: Job, num_classes: int) -> nn.Module:
    return nn.Linear(7, num_classes)


class ConstantModel(nn.Module):
    """Gives logits that do not depend on its one parameter."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(num_classes))

    def forward(self, frames_BTCHW: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(frames_BTCHW), len(self.weight))


def constant_model(job: Job, num_classes: int) -> nn.Module:
    return ConstantModel(num_classes)


def commits_in(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "commits").iterdir())


def telemetry_of(folder: Path) -> list[AnyLine]:
    return list(read_telemetry(folder / "telemetry.jsonl"))


def outcome(result: TrainResult) -> tuple[object, ...]:
    return result.final_loss, result.samples_digest, result.holdout_loss, result.accuracy


def signal_at(*steps: int, times: int = 1) -> Callable[[int, int, str], None]:
    """A progress callback that sends this process SIGTERM at the given steps."""

    def on_progress(step: int, num_steps: int, note: str) -> None:
        for number in range(times if step in steps else 0):
            time.sleep(REPEAT_SECONDS if number else 0)
            os.kill(os.getpid(), signal.SIGTERM)

    return on_progress


@pytest.fixture(scope="module")
def learnt(hues: Catalog, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TrainResult]:
    """A finished run of the default model, long enough to learn; no test may change it."""
    folder = tmp_path_factory.mktemp("learnt")
    job = a_job(train={"steps": 45, "batch_size": 8, "commit_every_steps": 20})
    return folder, train_run(job, hues, folder)


def test_the_default_model_learns_to_tell_four_sources_apart(
    learnt: tuple[Path, TrainResult],
) -> None:
    _, result = learnt
    assert result.num_classes == 4
    assert result.num_holdout_clips == 16
    assert result.chance == 0.25
    assert result.accuracy is not None and result.accuracy >= 0.75
    assert result.device == "cpu" and result.is_bit_repeatable
    assert result.attempts == 1 and result.events == []


def test_telemetry_tells_every_step_and_its_parts_fit_into_the_whole(
    learnt: tuple[Path, TrainResult],
) -> None:
    folder, result = learnt
    lines = telemetry_of(folder)
    start, *_, finish = lines
    assert isinstance(start, Start) and start.step == 0 and start.clip_bytes == 4 * 3 * 32 * 32
    assert isinstance(finish, Finish) and finish.step == 45
    steps = newest_steps(lines)
    assert [step.step for step in steps] == list(range(1, 46))
    assert steps[-1].loss == result.final_loss
    for step in steps:
        parts = (
            step.data_wait_seconds + step.transfer_seconds + step.forward_seconds
            + step.backward_seconds + step.optimizer_seconds
        )  # fmt: skip
        assert 0 < parts <= step.total_seconds + 1e-9
    assert all(a.epoch < b.epoch for a, b in pairwise(steps))
    assert [line.step for line in lines if isinstance(line, Save)] == [20, 40, 45]
    snapshots = [line for line in lines if isinstance(line, FeedSnapshot)]
    assert [line.step for line in snapshots] == [10, 20, 30, 40, 45]
    assert snapshots[-1].clips >= 45 * 8
    (evaluation,) = [line for line in lines if isinstance(line, Evaluation)]
    assert evaluation.accuracy == result.accuracy


def test_a_finished_run_returns_its_result_and_is_not_trained_again(
    hues: Catalog, tmp_path: Path
) -> None:
    result = train_run(a_job(), hues, tmp_path)
    before = (tmp_path / "telemetry.jsonl").read_bytes()
    assert train_run(a_job(), hues, tmp_path) == result
    assert (tmp_path / "telemetry.jsonl").read_bytes() == before


@pytest.mark.parametrize("is_finished", [True, False])
def test_a_folder_with_the_work_of_another_job_is_refused(
    hues: Catalog, tmp_path: Path, is_finished: bool
) -> None:
    if is_finished:
        train_run(a_job(), hues, tmp_path)
    else:
        with pytest.raises(Interrupted):
            train_run(a_job(), hues, tmp_path, on_progress=signal_at(2))
    before = commits_in(tmp_path)
    with pytest.raises(UserError, match=r"train\.learning_rate \(0\.002 there, 0\.01 now\)"):
        train_run(a_job(train={"learning_rate": 0.01}), hues, tmp_path)
    assert commits_in(tmp_path) == before


def test_a_run_stopped_by_signals_ends_like_one_that_was_not(hues: Catalog, tmp_path: Path) -> None:
    job = a_job(model={"factory": f"{__name__}:dropout_model"})
    handler = signal.getsignal(signal.SIGTERM)
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    whole = train_run(job, hues, tmp_path / "whole")
    for stop_after in (1, 6, 11):
        with pytest.raises(Interrupted, match=f"SIGTERM, committed after step {stop_after} of 12"):
            train_run(job, hues, tmp_path / "parts", on_progress=signal_at(stop_after))
        assert commits_in(tmp_path / "parts")[-1] == f"step-{stop_after:08d}"
    parts = train_run(job, hues, tmp_path / "parts")
    assert outcome(parts) == outcome(whole)
    assert parts.attempts == 4
    assert signal.getsignal(signal.SIGTERM) == handler
    assert Interrupted.exit_code not in (0, 1, 2, 130)


def test_failed_and_padded_clips_are_those_of_the_whole_run_each_once(tmp_path: Path) -> None:
    videos = tmp_path / "videos"
    videos.mkdir()
    for hue, num_frames in ((0, 60), (60, 60), (120, 60), (180, 5)):
        write_video(videos / f"hue{hue}.mp4", num_frames=num_frames, hue=hue)
    catalog = index_videos([videos], tmp_path / "catalog", workers=0)
    (videos / "hue60.mp4").unlink()
    job = a_job(data={"on_error": "skip", "error_budget": 1.0})
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    whole = train_run(job, catalog, tmp_path / "whole")
    assert 0 < whole.skipped_clips == len(whole.skipped) < 48
    assert 0 < whole.padded_clips < 48
    for steps, times in ((3, 1), (6, 2), (11, 1)):  # two signals: the last steps are done again
        with pytest.raises(Interrupted):
            train_run(job, catalog, tmp_path / "parts", on_progress=signal_at(steps, times=times))
    parts = train_run(job, catalog, tmp_path / "parts")
    assert parts.skipped == whole.skipped
    assert (parts.skipped_clips, parts.padded_clips) == (whole.skipped_clips, whole.padded_clips)
    snapshots = [x for x in telemetry_of(tmp_path / "parts") if isinstance(x, FeedSnapshot)]
    assert snapshots[-1].skipped_in_run == whole.skipped_clips
    assert any("held-out clips failed and are not scored" in event for event in whole.events)


def test_a_second_signal_stops_at_once_without_a_commit(hues: Catalog, tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match="at once by a second signal, after step 6 of 12"):
        train_run(a_job(), hues, tmp_path, on_progress=signal_at(6, times=2))
    assert commits_in(tmp_path) == ["step-00000004"]
    assert train_run(a_job(), hues, tmp_path).steps == 12


@pytest.mark.parametrize("harm", ["flip", "remove"])
def test_a_damaged_commit_is_kept_aside_and_the_one_before_is_used(
    hues: Catalog, tmp_path: Path, harm: str
) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    whole = train_run(a_job(), hues, tmp_path / "whole")
    with pytest.raises(Interrupted):
        train_run(a_job(), hues, tmp_path / "parts", on_progress=signal_at(9))
    part = tmp_path / "parts" / "commits" / "step-00000009" / "__0_0.distcp"
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 0x10
    part.unlink()
    if harm == "flip":
        part.write_bytes(content)
    events: list[str] = []
    result = train_run(a_job(), hues, tmp_path / "parts", on_event=events.append)
    assert outcome(result) == outcome(whole)
    assert "step-00000009 is damaged" in events[0] and "after step 8" in events[1]
    assert result.events == events
    assert "step-00000009.damaged" in commits_in(tmp_path / "parts")


def test_when_every_commit_is_damaged_the_run_begins_anew_and_says_so(
    hues: Catalog, tmp_path: Path
) -> None:
    with pytest.raises(Interrupted):
        train_run(a_job(), hues, tmp_path, on_progress=signal_at(3))
    (tmp_path / "commits" / "step-00000003" / "manifest.json").write_bytes(b"")
    result = train_run(a_job(), hues, tmp_path)
    assert any("no commit is left" in event for event in result.events)
    assert result.steps == 12


def test_a_loss_that_is_no_number_names_step_and_samples_and_leaves_the_commits(
    hues: Catalog, tmp_path: Path
) -> None:
    job = a_job(model={"factory": f"{__name__}:diverging_model"})
    with pytest.raises(UserError, match=r"step 7: loss nan.*hue\d+\.mp4 frames \d+\.\.\d+"):
        train_run(job, hues, tmp_path)
    assert commits_in(tmp_path) == ["step-00000004"]


def test_a_model_with_logits_of_another_shape_is_refused(hues: Catalog, tmp_path: Path) -> None:
    job = a_job(model={"factory": f"{__name__}:two_dimensional_model"})
    with pytest.raises(UserError, match=r"shape \(4, 4, 4\), expected .* \(4, 4\)") as raised:
        train_run(job, hues, tmp_path)
    assert "num_classes" in raised.value.hint


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("narrow_model", "the model's forward raised RuntimeError: mat1 and mat2"),
        ("constant_model", "the backward pass raised RuntimeError: element 0"),
    ],
)
def test_a_model_that_fails_in_a_step_is_the_users_to_mend(
    hues: Catalog, tmp_path: Path, model: str, message: str
) -> None:
    with pytest.raises(UserError, match=message) as raised:
        train_run(a_job(model={"factory": f"{__name__}:{model}"}), hues, tmp_path)
    assert raised.value.hint


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused_before_anything_is_written(
    hues: Catalog, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=r"built without CUDA|sees no GPU"):
        train_run(a_job(train={"device": "cuda"}), hues, tmp_path)
    assert not (tmp_path / "commits").exists()


def test_without_held_out_clips_the_accuracy_is_unknown_and_says_why(
    hues: Catalog, tmp_path: Path
) -> None:
    result = train_run(a_job(data={"holdout": 0.0}, train={"steps": 2}), hues, tmp_path)
    assert result.accuracy is None and result.holdout_loss is None and result.chance is None
    assert result.why_no_accuracy == "data.holdout is 0"


def test_a_batch_without_one_usable_clip_is_passed_over_and_said(tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    for hue in (0, 60, 120):
        write_video(tmp_path / "videos" / f"hue{hue}.mp4", num_frames=60, hue=hue)
    catalog = index_videos([tmp_path / "videos"], tmp_path / "catalog", workers=1)
    (tmp_path / "videos" / "hue60.mp4").unlink()
    job = a_job(data={"on_error": "skip", "error_budget": 1.0}, train={"batch_size": 1})
    result = train_run(job, catalog, tmp_path)
    assert result.steps == 12
    assert result.skipped_clips > 0 and result.skipped[0].path.endswith("hue60.mp4")
    passed_over, unscored = result.events
    assert "can be used" in passed_over
    assert "held-out clips failed and are not scored, the first of them" in unscored


def test_a_run_without_one_usable_clip_ends_with_an_error(tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    for hue in (0, 60):
        write_video(tmp_path / "videos" / f"hue{hue}.mp4", num_frames=60, hue=hue)
    catalog = index_videos([tmp_path / "videos"], tmp_path / "catalog", workers=1)
    for path in (tmp_path / "videos").iterdir():
        path.unlink()
    job = a_job(data={"on_error": "skip", "error_budget": 1.0}, train={"batch_size": 1})
    with pytest.raises(FeedError, match="no usable clip in 100 batches in a row"):
        train_run(job, catalog, tmp_path)

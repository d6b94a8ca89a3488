from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import torch

from filmgate.catalog import index_videos
from filmgate.machine.baseline.record import Workload
from filmgate.machine.environment.golden import CLIPS
from filmgate.train.baseline_jobs import Request, clips_digest
from filmgate.train.baseline_process import do_rounds
from filmgate.train.video_transformer import VideoTransformer, sample

SAMPLE = Workload(
    job="sample", seed=0, width=32, height=32, frames=2, steps=2, batch_size=1, threads=1,
    device="cpu",
)  # fmt: skip


def request(
    workload: Workload = SAMPLE, prompt: str = "rain", catalog: str | None = None
) -> Request:
    return Request(workload=workload, prompt=prompt, catalog=catalog, rounds=2)


def test_sampling_is_the_same_to_the_last_bit_and_hangs_on_seed_and_prompt() -> None:
    answer = do_rounds(request())
    assert len(answer.rounds) == 2
    assert all(one.cpu_seconds > 0 for one in answer.rounds)
    assert answer.unknown["peak_device_bytes"] == "no GPU took part"
    assert do_rounds(request()).result == answer.result
    assert do_rounds(request(prompt="snow")).result != answer.result
    assert do_rounds(request(msgspec.structs.replace(SAMPLE, seed=1))).result != answer.result


@pytest.mark.parametrize("shape", [(1, 2, 4, 4, 4), (2, 3, 4, 2, 6)])
def test_the_transformer_gives_finite_latents_of_the_shape_it_took(
    shape: tuple[int, ...],
) -> None:
    torch.manual_seed(0)
    model, noise = VideoTransformer(), torch.randn(shape)
    prompt = torch.randn(shape[0], 16, 192)
    latents = sample(model, noise, prompt, 3)
    assert latents.shape == noise.shape
    assert bool(latents.isfinite().all())
    assert not torch.equal(latents, noise)


def test_every_frame_hears_of_every_other() -> None:
    torch.manual_seed(0)
    model, noise, prompt = VideoTransformer(), torch.randn(1, 3, 4, 4, 4), torch.randn(1, 16, 192)
    changed = noise.clone()
    changed[:, 2] += 1
    assert not torch.equal(sample(model, noise, prompt, 1)[:, 0],
                           sample(model, changed, prompt, 1)[:, 0])  # fmt: skip


def test_training_on_fixed_clips_is_the_same_to_the_last_bit(tmp_path: Path) -> None:
    index_videos([CLIPS["h264"], CLIPS["mpeg4"]], tmp_path, labels=None, workers=0)
    workload = Workload(
        job="train", seed=0, width=48, height=32, frames=2, steps=2, batch_size=2, threads=1,
        device="cpu", clips=clips_digest(tmp_path),
    )  # fmt: skip
    first = do_rounds(request(workload, catalog=str(tmp_path)))
    assert do_rounds(request(workload, catalog=str(tmp_path))).result == first.result
    other = msgspec.structs.replace(workload, seed=1)
    assert do_rounds(request(other, catalog=str(tmp_path))).result != first.result

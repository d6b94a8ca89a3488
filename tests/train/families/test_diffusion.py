from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from filmgate.train.families.diffusion import (
    FlowMatching,
    VPrediction,
    draw_levels,
    draw_noise,
)

pytest.importorskip("diffusers", reason="the extra `video` is not installed")
CLIP = torch.randn((2, 3, 4, 5, 6), generator=torch.Generator().manual_seed(0))
NOISE = torch.randn((2, 3, 4, 5, 6), generator=torch.Generator().manual_seed(1))


@given(level=st.floats(0.01, 0.99), shift=st.floats(0.1, 10))
def test_from_a_mixture_the_predicted_velocity_leads_back_to_the_clip(
    level: float, shift: float
) -> None:
    levels_B = torch.tensor([level, level / 2])
    mixture = FlowMatching(shift=shift).mix(CLIP, NOISE, levels_B)
    share = (mixture.times_B / 1000)[:, None, None, None, None]
    assert torch.allclose(mixture.noisy_BTCHW - share * mixture.wanted_BTCHW, CLIP, atol=1e-4)


def test_levels_of_flow_matching_are_the_sigmas_of_diffusers() -> None:
    objective = FlowMatching(shift=3.0)
    scheduler = objective.scheduler()
    scheduler.set_timesteps(10)
    noisy = scheduler.scale_noise(CLIP, scheduler.timesteps[4:5].expand(2), NOISE)
    level = scheduler.sigmas[4] / (3 - 2 * scheduler.sigmas[4])
    mixture = objective.mix(CLIP, NOISE, level.expand(2))
    assert torch.allclose(mixture.noisy_BTCHW, noisy, atol=1e-5)
    assert torch.allclose(mixture.times_B, scheduler.timesteps[4].expand(2), atol=1e-2)


@pytest.mark.parametrize("level", [0.0, 0.25, 0.5, 0.9995])
def test_v_prediction_mixes_and_aims_as_the_scheduler_of_diffusers(level: float) -> None:
    objective = VPrediction()
    mixture = objective.mix(CLIP, NOISE, torch.tensor([level, level]))
    scheduler = objective.scheduler()
    times_B = mixture.times_B
    assert torch.allclose(mixture.noisy_BTCHW, scheduler.add_noise(CLIP, NOISE, times_B))
    wanted = scheduler.get_velocity(CLIP, NOISE, times_B)
    assert torch.allclose(mixture.wanted_BTCHW, wanted, atol=1e-5)


@pytest.mark.parametrize("objective", [FlowMatching(shift=3.0), VPrediction()])
def test_sampling_with_the_true_prediction_gives_the_clip_back(
    objective: FlowMatching | VPrediction,
) -> None:
    scheduler = objective.scheduler()
    scheduler.set_timesteps(10)
    latents = NOISE
    for time in scheduler.timesteps:
        said = _true_prediction(objective, latents, time)
        latents = scheduler.step(said, time, latents, return_dict=False)[0]
    assert torch.allclose(latents, CLIP, atol=1e-3)


def _true_prediction(
    objective: FlowMatching | VPrediction, latents: torch.Tensor, time: torch.Tensor
) -> torch.Tensor:
    """What a model that knows the clip says of a mixture."""
    if isinstance(objective, FlowMatching):
        return (latents - CLIP) / (time / 1000)
    kept = objective.scheduler().alphas_cumprod[int(time)]
    noise = (latents - kept.sqrt() * CLIP) / (1 - kept).sqrt()
    return kept.sqrt() * noise - (1 - kept).sqrt() * CLIP


def test_noise_and_levels_of_a_clip_do_not_depend_on_its_neighbours() -> None:
    def drawn(*seeds: int) -> list[torch.Generator]:
        return [torch.Generator().manual_seed(seed) for seed in seeds]

    assert torch.equal(draw_noise(drawn(1, 2), CLIP)[1:], draw_noise(drawn(2), CLIP[1:]))
    assert torch.equal(draw_levels(drawn(1, 2), "uniform")[1:], draw_levels(drawn(2), "uniform"))
    many = draw_levels(drawn(*range(400)), "logit-normal")
    assert float(many.min()) > 0 and float(many.max()) < 1
    assert 0.55 < float(((many - 0.5).abs() < 0.25).float().mean()) < 0.85

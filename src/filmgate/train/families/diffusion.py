"""What a generator learns: how clips are mixed with noise, and what it predicts of the mixture.

B clips, T frames, C channels, H, W of the latents.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch

from filmgate.train.families.library import library

NUM_TIMES = 1000
"""Times that models were made for: 0 is a clean clip, this is noise."""


class Mixture(NamedTuple):
    """A noisy clip, and what is to be predicted from it."""

    noisy_BTCHW: torch.Tensor
    times_B: torch.Tensor
    """0 to 1000."""
    wanted_BTCHW: torch.Tensor


class Objective(ABC):
    """One way to mix and to predict."""

    @abstractmethod
    def mix(
        self, latents_BTCHW: torch.Tensor, noise_BTCHW: torch.Tensor, levels_B: torch.Tensor
    ) -> Mixture:
        """Levels 0..1: the share of noise, or of the noise schedule."""

    @abstractmethod
    def scheduler(self) -> Any:
        """A scheduler of diffusers that samples with what the model predicts."""


@dataclass(frozen=True, kw_only=True)
class FlowMatching(Objective):
    """The straight way from a clip to noise; the velocity along it is predicted.

    Source: Y. Lipman et al., "Flow Matching for Generative Modeling", ICLR 2023,
    https://arxiv.org/abs/2210.02747
    """

    shift: float = 1.0
    """Source: P. Esser et al., "Scaling Rectified Flow Transformers", ICML 2024,
    https://arxiv.org/abs/2403.03206, equation 23."""

    def mix(
        self, latents_BTCHW: torch.Tensor, noise_BTCHW: torch.Tensor, levels_B: torch.Tensor
    ) -> Mixture:
        """As above."""
        levels_B = self.shift * levels_B / (1 + (self.shift - 1) * levels_B)
        share = _beside(levels_B, latents_BTCHW)
        return Mixture(
            (1 - share) * latents_BTCHW + share * noise_BTCHW,
            levels_B * NUM_TIMES,
            noise_BTCHW - latents_BTCHW,
        )

    def scheduler(self) -> Any:
        """Euler's method."""
        return library("diffusers").FlowMatchEulerDiscreteScheduler(shift=self.shift)


class VPrediction(Objective):
    """The noise schedule of CogVideoX; a turned mixture of noise and clip is predicted.

    Source: T. Salimans, J. Ho, "Progressive Distillation for Fast Sampling of Diffusion Models",
    ICLR 2022, https://arxiv.org/abs/2202.00512, appendix D.
    """

    def __init__(self) -> None:
        self._kept_N: torch.Tensor = self.scheduler().alphas_cumprod

    def mix(
        self, latents_BTCHW: torch.Tensor, noise_BTCHW: torch.Tensor, levels_B: torch.Tensor
    ) -> Mixture:
        """As above, at whole times."""
        times_B = (levels_B * NUM_TIMES).long().clamp(max=NUM_TIMES - 1)
        kept_B = self._kept_N.to(levels_B.device)[times_B].to(latents_BTCHW.dtype)
        clip, noise = _beside(kept_B.sqrt(), noise_BTCHW), _beside((1 - kept_B).sqrt(), noise_BTCHW)
        return Mixture(
            clip * latents_BTCHW + noise * noise_BTCHW,
            times_B,
            clip * noise_BTCHW - noise * latents_BTCHW,
        )

    def scheduler(self) -> Any:
        """DDIM."""
        return library("diffusers").CogVideoXDDIMScheduler(
            prediction_type="v_prediction", rescale_betas_zero_snr=True,
            timestep_spacing="trailing", snr_shift_scale=3.0,
        )  # fmt: skip


def objective_named(name: Literal["flow-matching", "v-prediction"], shift: float) -> Objective:
    """The objective of that name."""
    return FlowMatching(shift=shift) if name == "flow-matching" else VPrediction()


def draw_levels(
    generators_B: list[torch.Generator], noise_levels: Literal["uniform", "logit-normal"]
) -> torch.Tensor:
    """(B,) shares of noise 0..1, each from the clip's own generator."""
    if noise_levels == "uniform":
        return torch.cat([torch.rand(1, generator=one) for one in generators_B])
    return torch.cat([torch.randn(1, generator=one) for one in generators_B]).sigmoid()


def draw_noise(generators_B: list[torch.Generator], latents_BTCHW: torch.Tensor) -> torch.Tensor:
    """Noise of the latents' shape, each clip's from its own generator; made on the CPU, so that it
    is the same on every device."""
    shape = latents_BTCHW.shape[1:]
    noise = torch.stack([torch.randn(shape, generator=one) for one in generators_B])
    return noise.to(latents_BTCHW.device)


def _beside(values_B: torch.Tensor, clips_BTCHW: torch.Tensor) -> torch.Tensor:
    return values_B.reshape(-1, *[1] * (clips_BTCHW.ndim - 1))

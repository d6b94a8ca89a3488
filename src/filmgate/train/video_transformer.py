"""A small video diffusion transformer, and sampling with it: the fixed job of a baseline.

It is untrained: what it makes is noise, and what it costs is what a trained one of its size costs.

Shapes: B clips, T frames, C latent channels, H height, W width of the latents, N tokens, P tokens
of the prompt, D width of a token.
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional

LATENT_CHANNELS = 4
PIXELS_PER_LATENT = 8
"""As the autoencoders of video generators have it."""
PATCH = 2
WIDTH, DEPTH, HEADS = 192, 4, 4
PROMPT_TOKENS = 16


class Block(nn.Module):
    """Attention over all tokens and an MLP, both scaled and shifted by the time of the diffusion.

    Source: W. Peebles, S. Xie, "Scalable Diffusion Models with Transformers", ICCV 2023,
    https://arxiv.org/abs/2212.09748 (adaptive layer norm).
    """

    def __init__(self) -> None:
        super().__init__()
        self.modulation = nn.Linear(WIDTH, 6 * WIDTH)
        self.to_qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.from_heads = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(approximate="tanh"), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x_BND: torch.Tensor, time_BD: torch.Tensor) -> torch.Tensor:
        """Tokens of the same shape."""
        modulation_BD: torch.Tensor = self.modulation(functional.silu(time_BD))
        parts = modulation_BD.unsqueeze(1).chunk(6, dim=-1)
        shift_1, scale_1, gate_1, shift_2, scale_2, gate_2 = parts
        x_BND = x_BND + gate_1 * self._attend(_norm(x_BND) * (1 + scale_1) + shift_1)
        mixed_BND: torch.Tensor = self.mlp(_norm(x_BND) * (1 + scale_2) + shift_2)
        return x_BND + gate_2 * mixed_BND

    def _attend(self, x_BND: torch.Tensor) -> torch.Tensor:
        batch, tokens, _ = x_BND.shape
        qkv = self.to_qkv(x_BND).reshape(batch, tokens, 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        heads = functional.scaled_dot_product_attention(q, k, v)
        attended: torch.Tensor = self.from_heads(heads.transpose(1, 2).reshape(x_BND.shape))
        return attended


class VideoTransformer(nn.Module):
    """The velocity (B, T, C, H, W) at a time 0..1 of noisy latents (B, T, C, H, W) and a prompt
    (B, P, D); H and W are even."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Linear(LATENT_CHANNELS * PATCH**2, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.velocity = nn.Linear(WIDTH, LATENT_CHANNELS * PATCH**2)

    def forward(
        self, latents_BTCHW: torch.Tensor, time: float, prompt_BPD: torch.Tensor
    ) -> torch.Tensor:
        """The velocity."""
        batch, frames, _, height, width = latents_BTCHW.shape
        x_BND = self.patches(_patches(latents_BTCHW))
        x_BND = x_BND + _waves(torch.arange(x_BND.shape[1], device=x_BND.device))
        x_BND = torch.cat([prompt_BPD, x_BND], dim=1)
        time_BD = _waves(torch.full((batch,), 1000 * time, device=x_BND.device))
        for block in self.blocks:
            x_BND = block(x_BND, time_BD)
        x_BND = self.velocity(_norm(x_BND[:, prompt_BPD.shape[1] :]))
        rows, columns = height // PATCH, width // PATCH
        parts: torch.Tensor = x_BND.reshape(
            batch, frames, rows, columns, LATENT_CHANNELS, PATCH, PATCH
        )
        return parts.permute(0, 1, 4, 2, 5, 3, 6).reshape(latents_BTCHW.shape)


@torch.no_grad()
def sample(
    model: VideoTransformer, noise_BTCHW: torch.Tensor, prompt_BPD: torch.Tensor, steps: int
) -> torch.Tensor:
    """Latents after ``steps`` of Euler's method from noise along the model's velocity.

    Source: Y. Lipman et al., "Flow Matching for Generative Modeling", ICLR 2023,
    https://arxiv.org/abs/2210.02747
    """
    latents_BTCHW = noise_BTCHW
    for step in range(steps):
        velocity_BTCHW = model(latents_BTCHW, 1 - step / steps, prompt_BPD)
        latents_BTCHW = latents_BTCHW - velocity_BTCHW / steps
    return latents_BTCHW


def _norm(x_BND: torch.Tensor) -> torch.Tensor:
    return functional.layer_norm(x_BND, (WIDTH,))


def _patches(latents_BTCHW: torch.Tensor) -> torch.Tensor:
    """(B, N, C * patch * patch), frame by frame."""
    batch, frames, channels, height, width = latents_BTCHW.shape
    parts = latents_BTCHW.reshape(
        batch, frames, channels, height // PATCH, PATCH, width // PATCH, PATCH
    )
    return parts.permute(0, 1, 3, 5, 2, 4, 6).reshape(batch, -1, channels * PATCH**2)


def _waves(places: torch.Tensor) -> torch.Tensor:
    """(number, D): sines and cosines of each place at falling frequencies.

    Source: A. Vaswani et al., "Attention Is All You Need", 2017, https://arxiv.org/abs/1706.03762
    """
    half = torch.arange(WIDTH // 2, device=places.device)
    angles = places[:, None].float() * torch.exp(-math.log(10_000.0) * half / (WIDTH // 2))
    return torch.cat([angles.sin(), angles.cos()], dim=-1)

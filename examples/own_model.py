"""A model of one's own: a small image network on each frame, averaged over time.

Shapes: B clips, T frames, C channels, H height, W width, K classes, F features.
"""

from __future__ import annotations

import torch
from torch import nn

from filmgate.spec import Job


class AverageOfFrames(nn.Module):
    """Scores each frame alone, so it knows what is seen but not how it moves."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 32, 5, stride=4, padding=2),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.scores = nn.Linear(64, num_classes)

    def forward(self, frames_BTCHW: torch.Tensor) -> torch.Tensor:
        """Logits (B, K) of normalised float frames."""
        num_clips, num_frames = frames_BTCHW.shape[:2]
        features_BTF = self.features(frames_BTCHW.flatten(0, 1)).view(num_clips, num_frames, -1)
        logits_BK: torch.Tensor = self.scores(features_BTF.mean(dim=1))
        return logits_BK


def average_of_frames(job: Job, num_classes: int) -> nn.Module:
    """What the job file names: called with the job and the number of classes."""
    return AverageOfFrames(num_classes)

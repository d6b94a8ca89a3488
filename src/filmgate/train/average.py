"""A moving average of the trained weights (EMA), kept beside them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


class WeightAverage:
    """average = decay * average + (1 - decay) * weights, after every step.

    Source: B. Polyak, A. Juditsky, "Acceleration of Stochastic Approximation by Averaging", 1992;
    exponential as in https://arxiv.org/abs/1703.01780
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        self._decay = decay
        self._trained = {
            name: parameter
            for name, parameter in module.named_parameters()
            if parameter.requires_grad
        }
        self.weights = {
            name: parameter.detach().clone() for name, parameter in self._trained.items()
        }
        """Name of each trained parameter -> its average."""

    @torch.no_grad()
    def update(self) -> None:
        """Take the weights of a step in."""
        torch._foreach_lerp_(
            list(self.weights.values()), list(self._trained.values()), 1 - self._decay
        )

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Inside, the model has the averages for its weights."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        for name, parameter in self._trained.items():
            kept = self.weights[name].clone()
            self.weights[name].copy_(parameter)
            parameter.copy_(kept)

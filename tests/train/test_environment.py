from __future__ import annotations

import torch

from filmgate.train.environment import step_losses, torch_facts, torch_probes


def test_a_fixed_training_step_gives_the_same_losses_to_the_last_bit() -> None:
    first = step_losses(torch.device("cpu"))
    threads = torch.get_num_threads()
    assert step_losses(torch.device("cpu")) == first
    assert torch.get_num_threads() == threads
    losses = [float.fromhex(loss) for loss in first.split()]
    assert losses[-1] < losses[0]


def test_the_probes_cover_colour_and_training() -> None:
    names = {probe.name for probe in torch_probes()}
    assert {"rgb.h264", "rgb.mjpeg", "step.cpu"} <= names


def test_torch_facts_have_values_without_a_gpu_too() -> None:
    facts = {fact.name: fact.value for fact in torch_facts()}
    assert facts["torch.cpu_capability"]
    assert facts["determinism.algorithms"] == "false"
    assert all(value is not None for value in facts.values())

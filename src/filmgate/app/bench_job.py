"""What ``filmgate bench sync`` is to exchange: the gradients of a job's model, or told ones."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import torch
from torch.nn import functional

from filmgate.bench.ask import Ask
from filmgate.errors import UserError
from filmgate.spec import Job, load_job
from filmgate.train.learner import Learner, make_learner
from filmgate.train.repeatable import choose_device
from filmgate.units import parse_bytes
from filmgate.work.cores import num_usable_cores

CLASSES = 2
"""Data is not looked at, so a classifier's last layer is counted with so many."""
WARM_UP, STEPS = 2, 5
FLOAT_BYTES = 4


def ask_for_sync(
    *,
    quick: bool,
    device: str | None,
    ranks: int | None,
    gradient_bytes: str | None,
    job_file: Path | None,
    step_ms: float | None,
) -> Ask:
    """The options put together; a job's step is measured where none is told.

    Raises UserError for sizes and times that cannot be, and for gradients told twice.
    """
    if job_file is not None and gradient_bytes is not None:
        raise UserError(
            "gradients were told in two ways", hint="give --gradient-bytes or --for, not both"
        )
    if step_ms is not None and not 0 < step_ms < float("inf"):
        raise UserError(f"a step of {step_ms:g} ms", hint="give --step-ms a number above 0")
    num_bytes, step_seconds = None, None if step_ms is None else step_ms / 1000
    parameter_bytes: tuple[int, ...] = ()
    if gradient_bytes is not None:
        num_bytes = _bytes(gradient_bytes)
    if job_file is not None:
        job = load_job(job_file)
        learner = make_learner(job, CLASSES, choose_device(device or job.train.device))
        parameter_bytes = gradients_of(learner)
        step_seconds = step_seconds or step_of(learner, job, ranks or 2)
    return Ask(
        quick=quick, device=device, ranks=ranks, gradient_bytes=num_bytes,
        parameter_bytes=parameter_bytes, step_seconds=step_seconds,
    )  # fmt: skip


def gradients_of(learner: Learner) -> tuple[int, ...]:
    """Bytes of each trainable parameter's gradient, in the model's order."""
    return tuple(
        one.numel() * one.element_size() for one in learner.model.parameters() if one.requires_grad
    )


def step_of(learner: Learner, job: Job, ranks: int) -> float:
    """Seconds in which one rank computes its part of a step on made-up clips, median of a few.

    On a CPU in CPU time, with the threads that a rank would have.
    """
    if learner.device.type == "cpu":
        torch.set_num_threads(max(1, num_usable_cores() // ranks))
    clip, clips = job.clip, max(1, job.train.batch_size // ranks)
    shape = (clips, clip.frames, 3, clip.height, clip.width)
    frames_BTCHW = torch.randn(shape, device=learner.device)
    labels_B = torch.arange(clips, device=learner.device) % CLASSES
    learner.model.train()
    spent = [_one_step(learner, frames_BTCHW, labels_B) for _ in range(WARM_UP + STEPS)]
    return statistics.median(spent[WARM_UP:])


def _one_step(learner: Learner, frames_BTCHW: torch.Tensor, labels_B: torch.Tensor) -> float:
    began = _clock(learner.device)
    learner.optimizer.zero_grad(set_to_none=True)
    loss = functional.cross_entropy(learner.model(frames_BTCHW), labels_B)
    torch.autograd.backward(loss)
    learner.optimizer.step()
    return _clock(learner.device) - began


def _clock(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        return time.perf_counter()
    return time.process_time() / torch.get_num_threads()


def _bytes(text: str) -> int:
    try:
        num_bytes = parse_bytes(text)
    except ValueError as error:
        raise UserError(f"--gradient-bytes: {error}", hint="for example 2.8GB") from None
    if num_bytes < FLOAT_BYTES:
        raise UserError(
            f"--gradient-bytes: {text} is less than one number", hint="for example 2.8GB"
        )
    return num_bytes

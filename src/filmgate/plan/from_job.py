"""A job's [deliverable] and [plan] as one request, with everything that was assumed."""

from __future__ import annotations

import math
from typing import Any

from filmgate.errors import UserError
from filmgate.plan.model import FramesRule, ModelFacts, check_shape
from filmgate.plan.request import Assumption, PlanRequest
from filmgate.spec.job import Job


class _Filled:
    """Values of a request as they are settled, and what had to be assumed."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.assumed: list[Assumption] = []

    def take(self, name: str, said: Any, otherwise: Any, source: str) -> Any:
        """The value that was said; otherwise the other one, and a note of it."""
        value = otherwise if said is None else said
        if said is None:
            self.assumed.append(Assumption(name=name, value=str(value), source=source))
        self.values[name] = value
        return value


def request_from_job(job: Job, facts: ModelFacts | None) -> PlanRequest:
    """The request that a job file makes; ``facts`` are None for a model of the user's own.

    Raises UserError where the model cannot take the frames or the size, naming what it takes.
    """
    filled = _Filled()
    filled.values["model"] = job.model.factory if facts is None else facts.name
    if job.plan.model is None:
        filled.assumed.append(
            Assumption(name="model", value=job.model.factory, source="[model] factory of the job")
        )
    _shape(filled, job, facts)
    _use(filled, job, facts)
    return PlanRequest(**filled.values, assumed=tuple(filled.assumed))


def _shape(filled: _Filled, job: Job, facts: ModelFacts | None) -> None:
    wanted = job.deliverable
    if facts is None:
        frames, height, width = job.clip.frames, job.clip.height, job.clip.width
        source = "[clip] of the job"
    else:
        frames, height, width = facts.native_shape
        source = f"what {facts.title} was made for"
    frames_said = wanted.frames
    if wanted.seconds is not None:
        if wanted.frames is not None:
            raise UserError(
                "[deliverable] takes one of `frames` and `seconds`, got both", hint="remove one"
            )
        frames, source_frames = _frames_of(wanted.seconds, wanted.fps, facts)
    else:
        source_frames = source
    filled.take("frames", frames_said, frames, source_frames)
    filled.take("height", wanted.height, height, source)
    filled.take("width", wanted.width, width, source)
    if facts is not None:
        check_shape(facts, filled.values["frames"], filled.values["height"], filled.values["width"])


def _frames_of(seconds: float, fps: float | None, facts: ModelFacts | None) -> tuple[int, str]:
    rate = fps if fps is not None else (facts.native_fps if facts is not None else None)
    if rate is None:
        raise UserError(
            "[deliverable] seconds needs `fps`, which the model does not settle",
            hint="add fps, or write frames",
        )
    least = max(1, math.ceil(seconds * rate - 1e-9))
    rule = FramesRule() if facts is None else facts.frames_rule
    steps = max(0, math.ceil((max(least, rule.least) - rule.remainder) / rule.multiple))
    frames = steps * rule.multiple + rule.remainder
    return frames, f"{seconds:g} s at {rate:g} frames/s, the next count that the model takes"


def _use(filled: _Filled, job: Job, facts: ModelFacts | None) -> None:
    plan = job.plan
    generator = facts is not None and facts.kind != "classifier"
    mode = filled.take(
        "mode", job.deliverable.mode, "lora" if generator else "train",
        "adapters are the usual first step on a generator" if generator
        else "a model that is not a generator is trained",
    )  # fmt: skip
    training = mode != "generate"
    filled.take("lora_rank", plan.lora_rank, 64, "filmgate's default")
    filled.take("lora_targets", plan.lora_targets, "attention", "PEFT recipes for video models")
    filled.take("batch", plan.batch, 1, "the least that runs")
    filled.take(
        "precision", plan.precision, "bf16" if mode in {"lora", "generate"} else "bf16-mixed",
        "frozen weights need no float32 copy" if mode in {"lora", "generate"}
        else "float32 weights under autocast keep small updates",
    )  # fmt: skip
    filled.take("optimizer", plan.optimizer, "adamw", "filmgate's default")
    filled.take(
        "checkpointing", plan.checkpointing, "block" if generator and training else "none",
        "published recipes for this size of model" if generator else "filmgate's default",
    )  # fmt: skip
    filled.take("accumulation", plan.accumulation, 1, "filmgate's default")
    has_vae = facts is not None and facts.vae is not None
    latents = filled.take(
        "latents_precomputed", plan.latents_precomputed, has_vae and training,
        "published recipes cache latents and text embeddings",
    )  # fmt: skip
    resident = "backbone" if latents or not has_vae else ("all" if training else "stages")
    filled.take("resident", plan.resident, resident, "follows from what is computed on the GPU")
    filled.take("offload", plan.offload, "none", "filmgate's default")
    gpus = filled.take("gpus", plan.gpus, 1, "filmgate's default")
    filled.take("sharding", plan.sharding, "ddp" if gpus > 1 else "none", "follows from gpus")

"""Memory of a job: the request that its file makes, and how it is estimated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filmgate.plan.from_job import request_from_job
from filmgate.plan.memory import MemoryEstimate, estimate_memory
from filmgate.plan.model import ModelFacts
from filmgate.plan.models import find_model
from filmgate.plan.request import Assumption, PlanRequest
from filmgate.spec import Job, load_job

TRACED_CLASSES = 400
"""Classes that a user's model is asked for: Kinetics-400; a head weighs little."""


@dataclass(frozen=True, kw_only=True)
class Requested:
    """What a job asks to be planned."""

    job: Job
    request: PlanRequest
    facts: ModelFacts | None
    """None for a model of the user's own."""
    estimate_of: Callable[[PlanRequest], MemoryEstimate]
    """Estimates the job or a variant of it."""


def requested(path: Path | None) -> Requested:
    """The request of a job file, or of the defaults.

    Raises UserError for a job file that is wrong, an unknown model, a shape it cannot take.
    """
    job = Job() if path is None else load_job(path)
    facts = None if job.plan.model is None else find_model(job.plan.model)
    request = request_from_job(job, facts)
    estimate_of = estimate_memory if facts is not None else _tracer(job)
    return Requested(job=job, request=request, facts=facts, estimate_of=estimate_of)


def _tracer(job: Job) -> Callable[[PlanRequest], MemoryEstimate]:
    """Estimates by tracing the job's own model; torch is loaded at the first call."""
    known: dict[PlanRequest, MemoryEstimate] = {}

    def estimate(request: PlanRequest) -> MemoryEstimate:
        """Trace each request once."""
        if request not in known:
            known[request] = _traced(job, request)
        return known[request]

    return estimate


def _traced(job: Job, request: PlanRequest) -> MemoryEstimate:
    from msgspec.structs import replace

    from filmgate.plan.memory.peak import from_traced
    from filmgate.plan.memory.setup import setup_of
    from filmgate.train.learner import make_task
    from filmgate.train.trace import trace_job

    wanted = replace(job.clip, frames=request.frames, height=request.height, width=request.width)
    job = replace(job, clip=wanted)
    named = replace(job, model=replace(job.model, factory=request.model))
    shape = (request.batch, request.frames, 3, request.height, request.width)
    work = trace_job(
        lambda: make_task(named, TRACED_CLASSES).module, shape, setup_of(request),
        name=request.model,
    )  # fmt: skip
    classes = Assumption(
        name="classes", value=str(TRACED_CLASSES), source="Kinetics-400; a head weighs little"
    )
    return from_traced(replace(request, assumed=(*request.assumed, classes)), work)

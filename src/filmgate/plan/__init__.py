"""From the deliverable back to memory, server and cost: arithmetic on records."""

from filmgate.plan.memory import MemoryEstimate, estimate_memory, verdict
from filmgate.plan.model import ModelFacts
from filmgate.plan.models import find_model
from filmgate.plan.request import PlanRequest

__all__ = [
    "MemoryEstimate", "ModelFacts", "PlanRequest", "estimate_memory", "find_model", "verdict",
]  # fmt: skip

"""From the deliverable back to memory, server and cost: arithmetic on records."""

from filmgate.plan.memory import MemoryEstimate, verdict
from filmgate.plan.model import ModelFacts
from filmgate.plan.request import PlanRequest

__all__ = ["MemoryEstimate", "ModelFacts", "PlanRequest", "verdict"]

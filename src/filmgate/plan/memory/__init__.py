"""Peak GPU memory of a job, from the blocks of its model."""

from filmgate.plan.memory.estimate import MemoryEstimate, MemoryParts, Verdict, verdict
from filmgate.plan.memory.peak import estimate_memory

__all__ = ["MemoryEstimate", "MemoryParts", "Verdict", "estimate_memory", "verdict"]

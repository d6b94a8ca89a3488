"""Peak GPU memory of a job, from the blocks of its model."""

from filmgate.plan.memory.estimate import MemoryEstimate, MemoryParts, Verdict, verdict

__all__ = ["MemoryEstimate", "MemoryParts", "Verdict", "verdict"]

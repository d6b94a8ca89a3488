"""Many independent jobs on the cores of this machine."""

from filmgate.work.pool import Outcome, run_jobs

__all__ = ["Outcome", "run_jobs"]

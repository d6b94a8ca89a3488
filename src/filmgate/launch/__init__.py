"""Launch files: what Slurm, Kubernetes and SkyPilot need to start a run and to start it again.

``filmgate.launch.slurm.sbatch``, ``kubernetes.jobset`` and ``skypilot.task`` give the texts.
"""

from filmgate.launch.wish import Launch

__all__ = ["Launch"]

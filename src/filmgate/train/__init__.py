"""The training loop: it commits as it goes, resumes by itself, and times every stage of a step.

``filmgate.train.run.train_run`` is the one entry.
"""

import os

from filmgate.train.result import TrainResult

# Read by OpenMP when torch is loaded. Its threads by default spin where they wait for each other;
# with feed workers on the same cores a step then took 3 times as long (0.9 against 0.3 s, 2 cores).
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

__all__ = ["TrainResult"]

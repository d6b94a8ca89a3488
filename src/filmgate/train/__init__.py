"""The training loop: it commits as it goes, resumes by itself, and times every stage of a step.

``filmgate.train.run.train_run`` is the one entry.
"""

import os

from filmgate.train.result import TrainResult

# Read by OpenMP when torch is loaded. By default its threads spin while they wait for each other,
# which starves both themselves and the feed workers on the same cores: with two busy processes
# beside it on 2 cores a step took 0.4 to 1.3 s spinning and 0.3 to 0.5 s not; alone it costs 10 %.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

__all__ = ["TrainResult"]

"""Many independent tasks, each done and published exactly once, over processes or machines."""

from filmgate.work.coordinate import do_work
from filmgate.work.jobs import run_jobs
from filmgate.work.local import LocalExecutor
from filmgate.work.place import Place
from filmgate.work.task import Limits, Outcome, Progress, Task

__all__ = ["Limits", "LocalExecutor", "Outcome", "Place", "Progress", "Task", "do_work", "run_jobs"]

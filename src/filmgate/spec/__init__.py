"""The job file: what the user wants, as one validated record."""

from filmgate.spec.job import Augment, Clip, Data, Job, Limits, Train
from filmgate.spec.load import load_job, write_job

__all__ = ["Augment", "Clip", "Data", "Job", "Limits", "Train", "load_job", "write_job"]

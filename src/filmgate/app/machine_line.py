"""The machine in one line, for records and reports."""

from __future__ import annotations

import os

import psutil

from filmgate.units import format_bytes
from filmgate.work.cores import num_usable_cores


def machine_line() -> str:
    """``2 usable of 8 CPU cores, 16 GB memory``."""
    memory = format_bytes(psutil.virtual_memory().total)
    return f"{num_usable_cores()} usable of {os.cpu_count()} CPU cores, {memory} memory"

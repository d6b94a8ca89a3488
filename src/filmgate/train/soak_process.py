"""One load process of a soak: ``python -m filmgate.train.soak_process REQUEST``, until it is ended.

A line of JSON on stdout tells how far it is; what anything else prints goes to stderr.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import BinaryIO

import msgspec
import torch

from filmgate.machine.soak.process import Report
from filmgate.records import read_record
from filmgate.train.soak_load import SoakRequest, open_load

REPORT_SECONDS = 0.1


def main(request_file: str) -> int:
    """Work until stdout is closed or the process is ended."""
    reports = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    try:
        work(read_record(Path(request_file), SoakRequest), reports)
    except BrokenPipeError:
        return 0
    return 1


def work(request: SoakRequest, reports: BinaryIO) -> None:
    """Steps without end. Raises BrokenPipeError when nobody listens any more."""
    is_cuda = request.device == "cuda"
    steps, wrong, last_report = 0, None, 0.0
    with open_load(request) as do_step:
        while True:
            found = do_step()
            if is_cuda:
                torch.cuda.synchronize()
            steps, now = steps + 1, time.monotonic()
            if found is not None:
                wrong = (wrong or 0) + found
            if now - last_report >= REPORT_SECONDS:
                last_report = now
                report = Report(
                    steps=steps, at_monotonic_seconds=now, wrong=wrong,
                    cpu_seconds=time.process_time(),
                )  # fmt: skip
                reports.write(msgspec.json.encode(report) + b"\n")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""One process of a baseline: ``python -m filmgate.train.baseline_process REQUEST ANSWER``."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Self

import torch

from filmgate.closing import Closing
from filmgate.feed.memory import PeakMemory
from filmgate.machine.baseline.record import Answer, Round
from filmgate.records import digest_bytes, read_record, write_record
from filmgate.train.baseline_jobs import Request, open_job

LOOK_SECONDS = 0.1
NO_GPU = "no GPU took part"


def main(request_file: str, answer_file: str) -> int:
    """Do what the request says, and leave the answer."""
    request = read_record(Path(request_file), Request)
    write_record(Path(answer_file), do_rounds(request))
    return 0


def do_rounds(request: Request) -> Answer:
    """Every round, timed on both clocks. Raises what the job raises."""
    is_cuda = request.workload.device == "cuda"
    rounds: list[Round] = []
    results: list[bytes] = []
    with open_job(request) as do_round, PeakMemory(lambda: []) as memory, _Watch(is_cuda) as watch:
        for _ in range(request.rounds):
            wall, cpu = time.perf_counter(), time.process_time()
            results.append(do_round())
            if is_cuda:
                torch.cuda.synchronize()
            rounds.append(
                Round(
                    wall_seconds=time.perf_counter() - wall,
                    cpu_seconds=time.process_time() - cpu,
                )
            )
    unknown = {} if is_cuda else {"peak_device_bytes": NO_GPU, "device_utilisation": NO_GPU}
    if is_cuda and watch.utilisation is None:
        unknown["device_utilisation"] = watch.why_unknown
    if memory.peak_bytes is None:
        unknown["peak_bytes"] = "the kernel does not tell"
    return Answer(
        rounds=rounds,
        peak_bytes=memory.peak_bytes,
        peak_device_bytes=torch.cuda.max_memory_allocated() if is_cuda else None,
        device_utilisation=watch.utilisation,
        result=digest_bytes(*results),
        unknown=unknown,
    )


class _Watch(Closing):
    """Asks the driver now and then whether the GPU has work, on a thread of its own."""

    def __init__(self, is_cuda: bool) -> None:
        self.why_unknown = "the driver was not asked in time"
        self._is_cuda = is_cuda
        self._shares: list[float] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    @property
    def utilisation(self) -> float | None:
        """Mean share of the time in which a kernel ran."""
        return sum(self._shares) / len(self._shares) if self._shares else None

    def __enter__(self) -> Self:
        if self._is_cuda:
            self._thread.start()
        return self

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            try:
                self._shares.append(torch.cuda.utilization() / 100)
            except (ModuleNotFoundError, RuntimeError) as error:
                self.why_unknown = f"the driver cannot be asked: {error}"
                return


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

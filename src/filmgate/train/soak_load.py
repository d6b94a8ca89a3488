"""The steady loads of a soak, each a function that does one step.

Shapes: N rows and columns of a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from filmgate.machine.baseline.record import Workload
from filmgate.machine.soak.lines import Load
from filmgate.records import Record
from filmgate.train.baseline_jobs import Request, open_job
from filmgate.train.repeatable import choose_device, repeatable

SIZES = {"cpu": (1024, 1), "cuda": (8192, 16)}
"""Kind of device -> rows of a matrix, and products of a step: about 50 ms each way."""
TOLERANCES = {torch.float32: 1e-4, torch.bfloat16: 2e-2}
"""Of the largest entry. The same product on the same device comes out the same to the last bit;
this leaves room for a library that adds in another order."""
DoStep = Callable[[], int | None]
"""Does one step; returns how many products of it came out wrong, None where that cannot be said."""


class SoakRequest(Record, frozen=True):
    """What one process of a soak is to do."""

    load: Load
    """The work."""
    device: str
    """``cpu`` or ``cuda``, the one that the process sees."""
    catalog: str | None
    """Folder of the clips; null for products."""


def load_devices(wanted: str) -> list[str]:
    """``cpu``, or every GPU that torch sees. Raises UserError when ``cuda`` is not there."""
    if choose_device(wanted).type == "cpu":
        return ["cpu"]
    return [f"cuda:{index}" for index in range(torch.cuda.device_count())]


@contextmanager
def open_load(request: SoakRequest) -> Iterator[DoStep]:
    """The load, ready for steps. Raises as the feed."""
    load = request.load
    if load.kind == "products":
        device = torch.device(request.device)
        with repeatable(load.seed or 0, load.threads or 1, device):
            yield _products(load, device)
        return
    workload = Workload(
        job="train", seed=load.seed, width=load.width, height=load.height, frames=load.frames,
        steps=1, batch_size=load.batch_size, threads=load.threads, device=request.device,
    )  # fmt: skip
    training = Request(workload=workload, prompt="", catalog=request.catalog, rounds=1)
    with open_job(training) as do_round:

        def do_step() -> None:
            """One update; its loss differs from the last one's by itself."""
            do_round()

        yield do_step


def _products(load: Load, device: torch.device) -> DoStep:
    kind = torch.bfloat16 if load.number_type == "bfloat16" else torch.float32
    size = (load.matrix_size or 1,) * 2
    left_NN = torch.randn(size).to(device, kind)
    right_NN = torch.randn(size).to(device, kind)
    first_NN = left_NN @ right_NN
    allowed = TOLERANCES[kind] * first_NN.abs().amax()
    product_NN = torch.empty_like(first_NN)

    def do_step() -> int:
        """The same products again; the last of them is looked at."""
        for _ in range(load.work_per_step):
            torch.matmul(left_NN, right_NN, out=product_NN)
        off = (product_NN - first_NN).abs().amax()
        # Not a number is wrong as well.
        return 0 if bool(off <= allowed) else 1

    return do_step

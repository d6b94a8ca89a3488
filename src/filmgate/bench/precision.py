"""``filmgate bench precision``: what products and attention reach in each format that works here.

A format counts as working when torch runs it and a tile of it is right; what the hardware claims
is told beside it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from filmgate.bench.ask import Ask, Tell
from filmgate.bench.precision_formats import (
    FORMATS,
    OPERATIONS,
    Format,
    Operands,
    Operation,
    arithmetic_of,
    is_claimed,
    relative_error,
)
from filmgate.errors import UserError
from filmgate.machine.measured import BenchPart, Measure, measure_of
from filmgate.machine.tree import FolderTree, Tree
from filmgate.units import format_bytes
from filmgate.work.cores import num_usable_cores

WARM_UP, ITERATIONS = 50, 100
"""Of a GPU's shape, as mamf-finder has it."""
REPETITIONS, QUICK_REPETITIONS = 10, 5
CPU_SECONDS, QUICK_CPU_SECONDS = 0.2, 0.05
"""Of one repetition on a CPU."""
LONGEST_CALL_SECONDS = 2.0
"""A shape that is expected to take longer once is left out."""
ANCHOR = "mamf-finder of stas00/ml-engineering"


@dataclass(frozen=True, kw_only=True)
class Found:
    """What has been measured so far."""

    measures: list[Measure] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    says: list[str] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)


def bench_precision(ask: Ask, tell: Tell) -> BenchPart:
    """Operations a second and errors of every format, on the devices asked for.

    Raises UserError for a device that is not there.
    """
    found = Found()
    devices = devices_of(ask)
    if not torch.cuda.is_available():
        found.unknown["cuda"] = f"torch {torch.__version__} sees no NVIDIA GPU"
    flags = cpu_flags(FolderTree())
    pairs = [(device, op, form) for device in devices for op in OPERATIONS for form in FORMATS]
    torch.set_num_threads(num_usable_cores())
    for done, (device, op, form) in enumerate(pairs):
        tell(done, len(pairs), name_of(op, form, device))
        measure_format(op, form, device, ask.quick, is_claimed(form, device, flags), found)
    for device in devices:
        found.facts[device.type] = _device_words(device)
    _say_fastest(found, devices)
    tell(len(pairs), len(pairs), "")
    return BenchPart(
        name="precision", status="measured", measures=found.measures, facts=found.facts,
        says=found.says, unknown=found.unknown,
    )  # fmt: skip


def devices_of(ask: Ask) -> list[torch.device]:
    """CPU and the first GPU, or the one that was asked for. Raises UserError without it."""
    if ask.device is None:
        gpus = [torch.device("cuda", 0)] if torch.cuda.is_available() else []
        return [*gpus, torch.device("cpu")]
    try:
        device = torch.device(ask.device)
    except RuntimeError:
        device = torch.device("meta")
    index = device.index or 0
    if device.type == "cuda" and index < torch.cuda.device_count():
        return [torch.device("cuda", index)]
    if device.type == "cpu":
        return [device]
    raise UserError(
        f"no device {ask.device}; torch {torch.__version__} sees {torch.cuda.device_count()} GPUs",
        hint="give cpu, cuda or cuda:1, or leave --device out",
    )


def name_of(op: Operation, form: Format, device: torch.device) -> str:
    """``matmul-bf16-cuda``."""
    return f"{op.name}-{form.name}-{device.type}"


def measure_format(
    op: Operation, form: Format, device: torch.device, quick: bool, claimed: bool, found: Found
) -> None:
    """Check a tile, then time the shapes; a format that fails stands in ``unknown``, with how."""
    name = name_of(op, form, device)
    claims = "the hardware claims it, and" if claimed else "the hardware does not claim it;"
    with arithmetic_of(form, device):
        try:
            error = tile_error(op, form, device)
        except (RuntimeError, NotImplementedError, ValueError) as failure:
            reason = str(failure).strip().split("\n")[0][:200]
            found.unknown[name] = f"{claims} torch {torch.__version__} does not run it: {reason}"
            return
        if (wrong := why_wrong(form, error)) is not None:
            found.unknown[name] = f"{claims} {wrong}"
            found.says.append(f"{name}: {wrong}")
            return
        found.measures.append(_error_measure(op, form, device, error))
        found.measures.append(_speed(op, form, device, quick, claimed, found))


def tile_error(op: Operation, form: Format, device: torch.device) -> float:
    """Relative error of a small result. Raises what torch raises for a format it lacks."""
    operands = op.operands(form, op.tile, device, 1)
    return relative_error(op.compute(form, operands), op.exact(operands))


def why_wrong(form: Format, error: float) -> str | None:
    """Why a tile of this error is not what was asked for; None where it is."""
    if error > form.largest_error:
        return (
            f"it runs and is WRONG: relative error {error:.2g} against fp64, "
            f"at most {form.largest_error:.2g} is rounding"
        )
    if error < form.smallest_error:
        return f"it is not used: the error {error:.2g} is that of a finer format"
    return None


def _error_measure(op: Operation, form: Format, device: torch.device, error: float) -> Measure:
    return measure_of(
        f"{name_of(op, form, device)}-error", "share", [error],
        definition="Largest distance of a tile from its fp64 result, over the largest value of "
        "that; of numbers that were rounded to the format before.",
        conditions={"tile": _shape_words(op.tile), "allowed": f"{form.largest_error:.2g}"},
    )  # fmt: skip


def _speed(
    op: Operation, form: Format, device: torch.device, quick: bool, claimed: bool, found: Found
) -> Measure:
    """The best shape's rates. Memory is noted where it is a GPU's."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    rates, left_out = _rates_by_shape(op, form, device, quick)
    if device.type == "cuda":
        peak = torch.cuda.max_memory_allocated(device)
        found.facts[f"peak memory of {name_of(op, form, device)}"] = format_bytes(peak)
    best = max(rates, key=lambda shape: statistics.median(rates[shape]))
    tried = ", ".join(
        f"{_shape_words(shape)} {statistics.median(values) / 1e9:.4g} GFLOP/s"
        for shape, values in rates.items()
        if shape != best
    )
    notes = [] if claimed else ["the hardware does not claim this format: torch emulates it"]
    notes += [f"too slow to be tried: {', '.join(left_out)}"] if left_out else []
    conditions = {"shape": _shape_words(best), "other shapes": tried or "none"}
    if device.type == "cpu":
        conditions["threads"] = str(torch.get_num_threads())
    return measure_of(
        name_of(op, form, device), "FLOP/s", rates[best],
        definition=f"{op.definition}; the best of the shapes tried.", anchor=ANCHOR,
        warm_up=_warm_up_words(device), conditions=conditions, notes=notes,
    )  # fmt: skip


def _warm_up_words(device: torch.device) -> str:
    return f"{WARM_UP} calls of the shape" if device.type == "cuda" else "2 calls of the shape"


def _rates_by_shape(
    op: Operation, form: Format, device: torch.device, quick: bool
) -> tuple[dict[tuple[int, ...], list[float]], list[str]]:
    shapes = op.gpu_shapes if device.type == "cuda" else op.cpu_shapes
    rates: dict[tuple[int, ...], list[float]] = {}
    left_out: list[str] = []
    slowest = float("inf")
    for shape in shapes[:2] if quick else shapes:
        if op.flops(shape) / slowest > LONGEST_CALL_SECONDS:
            left_out.append(_shape_words(shape))
            continue
        operands = op.operands(form, shape, device, 2)
        time_calls = _time_on_gpu if device.type == "cuda" else _time_on_cpu
        seconds = time_calls(op, form, operands, quick)
        rates[shape] = [op.flops(shape) / one for one in seconds]
        slowest = min(rates[shape])
    return rates, left_out


def _time_on_cpu(op: Operation, form: Format, operands: Operands, quick: bool) -> list[float]:
    """Wall seconds of a call, mean of each repetition."""
    op.compute(form, operands)
    began = time.perf_counter()
    op.compute(form, operands)
    once = time.perf_counter() - began
    calls = max(1, round((QUICK_CPU_SECONDS if quick else CPU_SECONDS) / once))
    seconds = []
    for _ in range(QUICK_REPETITIONS if quick else REPETITIONS):
        began = time.perf_counter()
        for _ in range(calls):
            op.compute(form, operands)
        seconds.append((time.perf_counter() - began) / calls)
    return seconds


def _time_on_gpu(op: Operation, form: Format, operands: Operands, quick: bool) -> list[float]:
    """Seconds of a call by CUDA events, mean of each repetition."""
    repetitions = QUICK_REPETITIONS if quick else REPETITIONS
    calls = ITERATIONS // repetitions
    device = operands[0].device
    for _ in range(WARM_UP):
        op.compute(form, operands)
    seconds = []
    for _ in range(repetitions):
        torch.cuda.synchronize(device)
        start = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        end = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        start.record(torch.cuda.current_stream(device))
        for _ in range(calls):
            op.compute(form, operands)
        end.record(torch.cuda.current_stream(device))
        torch.cuda.synchronize(device)
        seconds.append(start.elapsed_time(end) / 1000 / calls)
    return seconds


def _say_fastest(found: Found, devices: Sequence[torch.device]) -> None:
    for device in devices:
        speeds = {
            form.name: measure.median
            for form in FORMATS
            for measure in found.measures
            if measure.name == f"matmul-{form.name}-{device.type}"
        }
        if "fp32" not in speeds:
            continue
        others = [f"{name} {speed / speeds['fp32']:.2g}" for name, speed in speeds.items()
                  if name != "fp32"]  # fmt: skip
        found.says.append(
            f"{device.type}: products reach {speeds['fp32'] / 1e12:.3g} TFLOP/s in fp32; times "
            f"that: {', '.join(others) or 'no other format works'}"
        )


def _device_words(device: torch.device) -> str:
    if device.type == "cpu":
        capability = torch.backends.cpu.get_cpu_capability()
        return f"torch {torch.__version__}, {capability}, {torch.get_num_threads()} threads"
    major, minor = torch.cuda.get_device_capability(device)
    name = torch.cuda.get_device_name(device)
    return f"{name}, compute capability {major}.{minor}, CUDA {torch.version.cuda}"


def cpu_flags(tree: Tree) -> frozenset[str]:
    """What the first processor says that it can; empty where the kernel does not tell."""
    try:
        lines = tree.text("proc/cpuinfo").split("\n")
    except OSError:
        return frozenset()
    line = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return frozenset(line.partition(":")[2].split())


def _shape_words(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))

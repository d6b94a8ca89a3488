"""Formats that work, that do not run, and that run and are wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from filmgate.bench.ask import Ask
from filmgate.bench.precision import (
    Found,
    bench_precision,
    cpu_flags,
    devices_of,
    measure_format,
    tile_error,
    why_wrong,
)
from filmgate.bench.precision_formats import (
    FORMATS,
    OPERATIONS,
    Format,
    Operation,
    arithmetic_of,
    is_claimed,
    relative_error,
)
from filmgate.errors import UserError
from filmgate.machine.tree import MemoryTree

CPU = torch.device("cpu")
MATMUL, ATTENTION = OPERATIONS
BY_NAME = {form.name: form for form in FORMATS}


def small(op: Operation) -> Operation:
    """The operation with shapes that take no time."""
    shapes = ((64, 64, 64),) if op.name == "matmul" else ((1, 2, 64, 32),)
    return replace(op, cpu_shapes=shapes)


def found_of(op: Operation, form: Format, *, claimed: bool = True) -> Found:
    found = Found()
    measure_format(small(op), form, CPU, True, claimed, found)
    return found


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
@pytest.mark.parametrize("name", ["fp32", "bf16", "fp16"])
def test_a_format_that_is_right_has_speed_and_error(op: Operation, name: str) -> None:
    found = found_of(op, BY_NAME[name])
    assert [one.name for one in found.measures] == [f"{op.name}-{name}-cpu-error",
                                                    f"{op.name}-{name}-cpu"]  # fmt: skip
    error, speed = found.measures
    assert 0 < error.median <= BY_NAME[name].largest_error
    assert speed.repetitions == 5
    assert speed.unit == "FLOP/s"
    assert speed.median > 0
    assert found.unknown == {}


def test_finer_formats_have_smaller_errors() -> None:
    errors = [tile_error(MATMUL, BY_NAME[name], CPU) for name in ("fp32", "fp16", "bf16")]
    assert errors == sorted(errors)
    assert errors[0] < 1e-5 < errors[1]


def test_a_format_that_runs_and_is_wrong_has_no_speed_and_is_said_to_be_wrong() -> None:
    worse = replace(MATMUL, compute=lambda form, operands: 1.1 * (operands[0] @ operands[1]))
    found = found_of(worse, BY_NAME["bf16"])
    assert found.measures == []
    assert "WRONG" in found.unknown["matmul-bf16-cpu"]
    assert "WRONG" in found.says[0]


def test_no_number_is_wrong_as_well() -> None:
    holes = replace(MATMUL, compute=lambda form, operands: operands[0] @ operands[1] * torch.nan)
    assert tile_error(holes, BY_NAME["fp32"], CPU) == float("inf")
    assert relative_error(torch.tensor([torch.inf]), torch.ones(1).double()) == float("inf")


def test_a_format_that_torch_does_not_run_says_whether_the_hardware_claims_it() -> None:
    def refuse(form: Format, operands: object) -> torch.Tensor:
        raise RuntimeError("no such kernel\nand more")

    for claimed, words in ((True, "the hardware claims it, and torch"),
                           (False, "the hardware does not claim it; torch")):  # fmt: skip
        found = found_of(replace(MATMUL, compute=refuse), BY_NAME["fp8"], claimed=claimed)
        assert found.measures == []
        assert found.unknown["matmul-fp8-cpu"].startswith(words)
        assert found.unknown["matmul-fp8-cpu"].endswith("does not run it: no such kernel")


def test_a_format_that_is_emulated_says_so() -> None:
    speed = found_of(MATMUL, BY_NAME["fp16"], claimed=False).measures[-1]
    assert speed.notes == ["the hardware does not claim this format: torch emulates it"]


def test_tf32_that_is_as_exact_as_fp32_was_not_used() -> None:
    assert why_wrong(BY_NAME["tf32"], 3e-7) is not None
    assert why_wrong(BY_NAME["tf32"], 4e-4) is None


def test_a_shape_that_would_take_too_long_is_named() -> None:
    slow = replace(MATMUL, cpu_shapes=((64, 64, 64), (64, 64, 10**13)))
    found = Found()
    measure_format(slow, BY_NAME["fp32"], CPU, True, True, found)
    assert found.measures[-1].notes == ["too slow to be tried: 64x64x10000000000000"]


def test_the_arithmetic_is_as_before_afterwards() -> None:
    before = torch.backends.mkldnn.matmul.fp32_precision
    with arithmetic_of(BY_NAME["tf32"], CPU):
        assert torch.backends.mkldnn.matmul.fp32_precision == "tf32"
    assert torch.backends.mkldnn.matmul.fp32_precision == before


def test_what_a_cpu_claims_is_read_from_its_flags() -> None:
    tree = MemoryTree({"proc/cpuinfo": b"processor\t: 0\nflags\t\t: fpu avx512_bf16 amx_fp16\n"})
    flags = cpu_flags(tree)
    assert is_claimed(BY_NAME["bf16"], CPU, flags)
    assert is_claimed(BY_NAME["fp16"], CPU, flags)
    assert is_claimed(BY_NAME["fp32"], CPU, frozenset())
    assert not is_claimed(BY_NAME["fp8"], CPU, flags)
    assert cpu_flags(MemoryTree({})) == frozenset()


def test_every_format_of_this_machine_has_a_figure_or_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "filmgate.bench.precision.OPERATIONS", tuple(small(op) for op in OPERATIONS)
    )
    part = bench_precision(Ask(quick=True, device="cpu"), lambda done, total, note="": None)
    for op in OPERATIONS:
        for form in FORMATS:
            name = f"{op.name}-{form.name}-cpu"
            assert (part.measure(name) is None) == (name in part.unknown)
            assert (part.measure(name) is None) == (part.measure(f"{name}-error") is None)
    assert part.says


@pytest.mark.parametrize("device", ["cuda:99", "tpu", "mps"])
def test_a_device_that_is_not_there_is_refused(device: str) -> None:
    with pytest.raises(UserError, match="no device"):
        devices_of(Ask(device=device))


@pytest.mark.gpu
def test_bf16_and_what_the_gpu_claims_is_measured_or_said() -> None:
    part = bench_precision(Ask(quick=True, device="cuda"), lambda done, total, note="": None)
    for op in OPERATIONS:
        for form in FORMATS:
            name = f"{op.name}-{form.name}-cuda"
            assert (part.measure(name) is None) == (name in part.unknown)
    assert part.measure("matmul-fp32-cuda") is not None
    if torch.cuda.get_device_capability() >= (8, 0):
        bf16, fp32 = part.measure("matmul-bf16-cuda"), part.measure("matmul-fp32-cuda")
        assert bf16 is not None
        assert fp32 is not None
        assert bf16.median > fp32.median
        assert "peak memory of matmul-bf16-cuda" in part.facts


@pytest.mark.gpu
def test_fp8_products_are_right_where_the_gpu_has_them() -> None:
    if torch.cuda.get_device_capability() < (8, 9):
        pytest.skip("this GPU does not claim fp8")
    error = tile_error(MATMUL, BY_NAME["fp8"], torch.device("cuda", 0))
    assert 0 < error <= BY_NAME["fp8"].largest_error

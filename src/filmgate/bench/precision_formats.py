"""Number formats as torch runs them: the call, what it may miss by, and what the hardware claims.

M, K, N: a product of (M, K) and (K, N). B clips, H heads, S tokens, D width of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch.nn import functional

Operands = tuple[torch.Tensor, ...]


@dataclass(frozen=True, kw_only=True)
class Format:
    """One way to compute a product or an attention."""

    name: str
    """``bf16``."""
    dtype: torch.dtype
    """Of what goes in."""
    largest_error: float
    """Of the tile against fp64: what rounding the result and the sums may come to. Above it the
    result is wrong."""
    smallest_error: float = 0.0
    """Below it the arithmetic was a finer one than asked for."""
    wants_tf32: bool = False
    """Whether fp32 products may be computed in tf32."""
    least_capability: tuple[int, int] = (0, 0)
    """The least compute capability of a GPU that says it has it."""
    cpu_flags: frozenset[str] | None = frozenset()
    """A CPU with one of these flags says it has it; empty: any CPU, None: none."""


FP8 = torch.float8_e4m3fn
FORMATS = (
    Format(name="fp32", dtype=torch.float32, largest_error=2**-16),
    Format(
        name="tf32", dtype=torch.float32, largest_error=2**-8, smallest_error=2**-17,
        wants_tf32=True, least_capability=(8, 0), cpu_flags=None,
    ),
    Format(
        name="bf16", dtype=torch.bfloat16, largest_error=2**-7, least_capability=(8, 0),
        cpu_flags=frozenset({"avx512_bf16", "amx_bf16"}),
    ),
    Format(
        name="fp16", dtype=torch.float16, largest_error=2**-8, least_capability=(7, 0),
        cpu_flags=frozenset({"avx512_fp16", "amx_fp16"}),
    ),
    Format(
        name="fp8", dtype=FP8, largest_error=2**-6, least_capability=(8, 9), cpu_flags=None,
    ),
)  # fmt: skip
"""Compute capabilities: NVIDIA's CUDA C++ programming guide, table of arithmetic throughput, and
its notes on tensor cores; CPU flags: Linux, arch/x86/include/asm/cpufeatures.h."""


def matmul_operands(
    form: Format, shape: tuple[int, int, int], device: torch.device, seed: int
) -> Operands:
    """(M, K) and (K, N) of normal numbers, rounded to the format."""
    rows, inner, columns = shape
    chance = torch.Generator().manual_seed(seed)
    left = torch.randn(rows, inner, generator=chance)
    right = torch.randn(columns, inner, generator=chance)
    # (K, N) as a transposed view: fp8 products take the right side by columns.
    return left.to(device, form.dtype), right.to(device, form.dtype).t()


def attention_operands(
    form: Format, shape: tuple[int, int, int, int], device: torch.device, seed: int
) -> Operands:
    """Queries, keys and values (B, H, S, D)."""
    chance = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(shape, generator=chance).to(device, form.dtype) for _ in range(3))


def matmul(form: Format, operands: Operands) -> torch.Tensor:
    """The product; of fp8 in bf16, through ``torch._scaled_mm`` with scales of 1."""
    left, right = operands
    if form.dtype != FP8:
        return torch.matmul(left, right)
    one = torch.ones((), device=left.device)
    return torch._scaled_mm(left, right, one, one, out_dtype=torch.bfloat16)


def attention(form: Format, operands: Operands) -> torch.Tensor:
    """Scaled dot-product attention, not causal, by the kernel that torch chooses."""
    del form
    query, key, value = operands
    return functional.scaled_dot_product_attention(query, key, value)


def exact_matmul(operands: Operands) -> torch.Tensor:
    """The product of the rounded numbers in fp64 on the CPU."""
    left, right = (one.cpu().double() for one in operands)
    return left @ right


def exact_attention(operands: Operands) -> torch.Tensor:
    """The attention of the rounded numbers in fp64 on the CPU, written out."""
    query, key, value = (one.cpu().double() for one in operands)
    scores: torch.Tensor = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    return torch.matmul(scores.softmax(-1), value)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """What is computed: how, its truth, its work and its shapes."""

    name: str
    compute: Callable[[Format, Operands], torch.Tensor]
    exact: Callable[[Operands], torch.Tensor]
    operands: Callable[[Format, tuple[int, ...], torch.device, int], Operands]
    flops: Callable[[tuple[int, ...]], int]
    tile: tuple[int, ...]
    """Shape that is checked."""
    cpu_shapes: tuple[tuple[int, ...], ...]
    """That are tried on a CPU, small ones first."""
    gpu_shapes: tuple[tuple[int, ...], ...]
    definition: str


OPERATIONS = (
    Operation(
        name="matmul",
        compute=matmul,
        exact=exact_matmul,
        operands=lambda form, shape, device, seed: matmul_operands(
            form, (shape[0], shape[1], shape[2]), device, seed
        ),
        flops=lambda shape: 2 * shape[0] * shape[1] * shape[2],
        tile=(256, 256, 256),
        cpu_shapes=((512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048)),
        gpu_shapes=(
            (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (16384, 8192, 1280),
            (4096, 16384, 4096),
        ),
        definition="2 M K N operations of a product (M, K) x (K, N) in a second",
    ),
    Operation(
        name="attention",
        compute=attention,
        exact=exact_attention,
        operands=lambda form, shape, device, seed: attention_operands(
            form, (shape[0], shape[1], shape[2], shape[3]), device, seed
        ),
        flops=lambda shape: 4 * shape[0] * shape[1] * shape[2] ** 2 * shape[3],
        tile=(1, 2, 256, 64),
        cpu_shapes=((1, 8, 512, 64), (1, 8, 2048, 64)),
        gpu_shapes=((2, 16, 4096, 128), (1, 24, 16384, 128)),
        definition="4 B H S S D operations of attention over (B, H, S, D), not causal, forward, in "
        "a second",
    ),
)  # fmt: skip


@contextmanager
def arithmetic_of(form: Format, device: torch.device) -> Iterator[None]:
    """fp32 products in tf32 where that is the format, and nowhere else; as it was afterwards."""
    backend = torch.backends.cuda if device.type == "cuda" else torch.backends.mkldnn
    before = backend.matmul.fp32_precision
    backend.matmul.fp32_precision = "tf32" if form.wants_tf32 else "ieee"
    try:
        yield
    finally:
        backend.matmul.fp32_precision = before


def is_claimed(form: Format, device: torch.device, cpu_flags: frozenset[str]) -> bool:
    """Whether the hardware says that it computes in the format."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= form.least_capability
    wanted = form.cpu_flags
    return wanted is not None and (not wanted or bool(wanted & cpu_flags))


def relative_error(found: torch.Tensor, exact: torch.Tensor) -> float:
    """Largest distance from the exact result over the largest exact value; infinite for no
    number."""
    miss = (found.cpu().double() - exact).abs().max() / exact.abs().max()
    return float("inf") if bool(miss.isnan()) else float(miss)

"""The environment variables that a lock may hold, and what a change of each can do.

Only these are read: an environment is full of secrets. A value with a path in it is replaced by its
digest, because a path names a machine and a user.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from filmgate.machine.environment.facts import NONE, Fact
from filmgate.machine.environment.grades import Grade
from filmgate.records import digest_bytes

MAX_VALUE_LETTERS = 80
"""A longer value is given as its digest."""
PREFIX = "variable."


@dataclass(frozen=True, kw_only=True)
class Variable:
    """One variable of the list."""

    name: str
    grade: Grade
    """What a change of it can do."""
    why: str


def _list(grade: Grade, why: str, *names: str) -> tuple[Variable, ...]:
    return tuple(Variable(name=name, grade=grade, why=why) for name in names)


VARIABLES = (
    *_list(
        "results",
        "sums are split over this many threads, and another order rounds differently",
        *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
        *("OMP_DYNAMIC", "MKL_DYNAMIC"),
    ),
    *_list(
        "results",
        "it chooses among kernels that round differently",
        *("MKL_CBWR", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"),
        *("ONEDNN_DEFAULT_FPMATH_MODE", "MKL_ENABLE_INSTRUCTIONS", "OPENBLAS_CORETYPE"),
        *("CUBLAS_WORKSPACE_CONFIG", "NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"),
        *("CUDNN_CONV_WSCAP_DBG", "TORCH_CUDNN_V8_API_DISABLED", "NPY_DISABLE_CPU_FEATURES"),
        *("NPY_ENABLE_CPU_FEATURES", "TORCH_BLAS_PREFER_CUBLASLT", "TORCHDYNAMO_DISABLE"),
        "CUDA_FORCE_PTX_JIT",
    ),
    *_list(
        "results",
        "it changes in which order the ranks' gradients are added",
        *("NCCL_ALGO", "NCCL_PROTO", "NCCL_MAX_NCHANNELS", "NCCL_MIN_NCHANNELS", "NCCL_NTHREADS"),
        "NCCL_NVLS_ENABLE",
    ),
    *_list("results", "it seeds the order of sets and dicts of str", "PYTHONHASHSEED"),
    *_list(
        "results",
        "another library can stand in for the one that is installed",
        *("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH"),
    ),
    *_list("results", "it turns checks in the code off", "PYTHONOPTIMIZE"),
    *_list(
        "performance",
        "it chooses how threads wait and where they run",
        *("OMP_WAIT_POLICY", "OMP_PROC_BIND", "OMP_PLACES", "KMP_BLOCKTIME", "KMP_AFFINITY"),
        "GOMP_CPU_AFFINITY",
    ),
    *_list(
        "performance",
        "it changes how memory is handed out",
        *("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING"),
        *("MALLOC_ARENA_MAX", "MALLOC_TRIM_THRESHOLD_", "PYTHONMALLOC"),
    ),
    *_list(
        "performance",
        "it changes how GPUs are reached and launched",
        *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING"),
        *("CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_MODULE_LOADING", "CUDA_CACHE_DISABLE"),
    ),
    *_list(
        "performance",
        "it chooses the way that gradients travel",
        *("NCCL_P2P_DISABLE", "NCCL_IB_DISABLE", "NCCL_SHM_DISABLE", "NCCL_SOCKET_IFNAME"),
        *("NCCL_P2P_LEVEL", "NCCL_NET_GDR_LEVEL", "NCCL_CROSS_NIC", "NCCL_BUFFSIZE"),
        "GLOO_SOCKET_IFNAME",
    ),
    *_list(
        "cosmetic",
        "it changes what is said, not what is done",
        *("NCCL_DEBUG", "TORCH_DISTRIBUTED_DEBUG", "TORCH_SHOW_CPP_STACKTRACES"),
        *("PYTHONUNBUFFERED", "PYTHONFAULTHANDLER", "LANG", "LC_ALL", "TZ"),
    ),
)


def variable_facts(environment: Mapping[str, str] = os.environ) -> list[Fact]:
    """A fact for every variable of the list, ``none`` where it is not set."""
    return [
        Fact(name=PREFIX + variable.name, value=_shown(environment.get(variable.name)))
        for variable in VARIABLES
    ]


def _shown(value: str | None) -> str:
    if value is None:
        return NONE
    if any(mark in value for mark in "/\\@") or len(value) > MAX_VALUE_LETTERS:
        return digest_bytes(value.encode(errors="surrogateescape"))
    return value

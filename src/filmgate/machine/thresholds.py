"""Every number that the checklist holds a machine against, with its source.

They are the rules of the field; what a job needs stands above them wherever it is known.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """One number."""

    value: float
    unit: str
    meaning: str
    """What it is held against."""
    source: str


CORES_PER_GPU = Threshold(
    value=16, unit="cores", meaning="usable CPU cores for each GPU",
    source="rule of the field: 16 to 32 cores per GPU",
)  # fmt: skip
CORES_PER_GPU_LEAST = Threshold(
    value=8, unit="cores", meaning="usable CPU cores for each GPU, below which it fails",
    source="half of the rule of the field",
)  # fmt: skip
RAM_PER_VRAM = Threshold(
    value=2, unit="times", meaning="main memory over the memory of all GPUs",
    source="rule of the field: RAM at least twice VRAM",
)  # fmt: skip
GPUS_FOR_NVLINK = Threshold(
    value=4, unit="GPUs", meaning="GPUs in one machine, from which on NVLink is asked for",
    source="rule of the field: NVLink from four GPUs on",
)  # fmt: skip
NVME_BYTES_PER_SECOND = Threshold(
    value=5e9, unit="bytes/s", meaning="what one NVMe drive is expected to read at least",
    source="rule of the field: one NVMe drive 5 to 7 GB/s, 4 in RAID 0 20 to 25",
)  # fmt: skip
NETWORK_BITS_PER_SECOND = Threshold(
    value=200e9, unit="bit/s", meaning="fastest link between nodes",
    source="rule of the field: InfiniBand 200 to 400 Gb/s, or RoCE",
)  # fmt: skip
NETWORK_BITS_PER_SECOND_LEAST = Threshold(
    value=25e9, unit="bit/s", meaning="fastest link between nodes, below which it fails",
    source="an eighth of the rule of the field; slower ones suit adapters only",
)  # fmt: skip
SHARED_MEMORY_BYTES = Threshold(
    value=2**30, unit="bytes", meaning="size of /dev/shm",
    source="PyTorch: loader workers die of a bus error in containers, whose /dev/shm is 64 MB",
)  # fmt: skip
USABLE_CPU_SHARE = Threshold(
    value=0.5, unit="share", meaning="CPUs that the process may keep busy over those there are",
    source="a limit below half of the machine is more often forgotten than meant",
)  # fmt: skip
READ_HEADROOM = Threshold(
    value=1.2, unit="times", meaning="measured read over the loader's need",
    source="a fifth of headroom, for other readers and a drive that fills up",
)  # fmt: skip
IDLE_PERFORMANCE_STATE = Threshold(
    value=5, unit="P-state", meaning="NVML performance state from which on a GPU counts as idle",
    source="NVML: P0 highest, P8 idle; links turn down with the clocks",
)  # fmt: skip

THRESHOLDS: dict[str, Threshold] = {
    name: value for name, value in list(globals().items()) if isinstance(value, Threshold)
}
"""All of them by name."""

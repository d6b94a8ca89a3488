"""What torch adds to an environment: its libraries and settings, and a training step as a probe.

B clips, T frames, C = 3, H, W.
"""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch.nn import functional

from filmgate.catalog import index_videos
from filmgate.feed import ClipReader
from filmgate.machine.environment.facts import NONE, Fact, Probe
from filmgate.machine.environment.golden import CLIPS
from filmgate.records import digest_bytes
from filmgate.train.models import SmallVideoClassifier
from filmgate.train.repeatable import repeatable

STEPS = 3
CLASSES = 4
SHAPE_BTCHW = (2, 8, 3, 32, 48)
CONVERTED = ("h264", "mjpeg")
"""Golden clips whose frames are also scaled and turned into RGB: limited and full range."""
RGB_SIZE = (40, 56)


def torch_facts() -> list[Fact]:
    """Libraries and settings of this process."""
    cuda = torch.version.cuda or NONE
    return [
        Fact(name="torch.cuda", value=cuda),
        Fact(name="torch.cudnn", value=_cudnn()),
        Fact(name="torch.nccl", value=_nccl()),
        Fact(name="torch.cpu_capability", value=torch.backends.cpu.get_cpu_capability()),
        Fact(name="torch.threads", value=str(torch.get_num_threads())),
        *_gpu_facts(),
        *_determinism(),
    ]


def torch_probes() -> list[Probe]:
    """RGB frames of golden clips, and the losses of fixed training steps on CPU and GPU."""
    devices = [torch.device("cpu")]
    if torch.cuda.is_available():
        devices.append(torch.device("cuda"))
    steps = [Probe(name=f"step.{device.type}", value=step_losses(device)) for device in devices]
    return [*_rgb_probes(), *steps]


def step_losses(device: torch.device) -> str:
    """Losses of three updates of the default model on made-up clips, as hexadecimal floats.

    One thread and fixed weights, so two runs in one environment agree to the last bit on the CPU;
    a GPU may add up in another order.
    """
    with repeatable(0, 1, device):
        model = SmallVideoClassifier(CLASSES).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        frames_BTCHW = _frames().to(device)
        labels_B = torch.arange(SHAPE_BTCHW[0], device=device) % CLASSES
        losses = []
        for _ in range(STEPS):
            optimizer.zero_grad(set_to_none=True)
            loss = functional.cross_entropy(model(frames_BTCHW), labels_B)
            torch.autograd.backward(loss)
            optimizer.step()
            losses.append(float(loss.item()))
    return " ".join(loss.hex() for loss in losses)


def _frames() -> torch.Tensor:
    """Float clips from integer arithmetic, the same everywhere."""
    count = torch.arange(math.prod(SHAPE_BTCHW), dtype=torch.int64)
    return ((count * 2654435761 % 4294967296) // 16777216).reshape(SHAPE_BTCHW).float() / 128 - 1


def _rgb_probes() -> list[Probe]:
    with TemporaryDirectory(prefix="filmgate-golden-") as folder:
        catalog = index_videos([CLIPS[codec] for codec in CONVERTED], folder, workers=0)
        names = [Path(catalog.video(row).path).stem for row in range(catalog.num_videos)]
        with ClipReader(catalog, size=RGB_SIZE) as reader:
            pixels = [
                reader.read(row, range(catalog.frame_table(row).num_frames)).tobytes()
                for row in range(catalog.num_videos)
            ]
    return [
        Probe(name=f"rgb.{name}", value=digest_bytes(content))
        for name, content in zip(names, pixels, strict=True)
    ]


def _gpu_facts() -> list[Fact]:
    if not torch.cuda.is_available():
        names = ("names", "count", "compute_capability", "memory_gib")
        return [Fact(name=f"gpu.{name}", value=NONE) for name in names]
    gpus = [torch.cuda.get_device_properties(place) for place in range(torch.cuda.device_count())]
    return [
        Fact(name="gpu.names", value=", ".join(sorted({gpu.name for gpu in gpus}))),
        Fact(name="gpu.count", value=str(len(gpus))),
        Fact(
            name="gpu.compute_capability",
            value=", ".join(sorted({f"{gpu.major}.{gpu.minor}" for gpu in gpus})),
        ),
        Fact(name="gpu.memory_gib", value=f"{min(gpu.total_memory for gpu in gpus) / 2**30:.0f}"),
    ]


def _determinism() -> list[Fact]:
    """Settings of torch that choose among kernels."""
    settings = {
        "algorithms": torch.are_deterministic_algorithms_enabled(),
        "cudnn_deterministic": torch.backends.cudnn.deterministic,
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "cudnn_allow_tf32": torch.backends.cudnn.allow_tf32,
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "flush_denormal": _flushes_denormals(),
    }
    return [
        Fact(name=f"determinism.{name}", value=str(value).lower())
        for name, value in settings.items()
    ]


def _flushes_denormals() -> bool:
    """Whether numbers too small for a float32's full precision become 0."""
    return bool(torch.tensor(1e-40) * 1.0 == 0)


def _nccl() -> str:
    """The version that torch carries; ``none`` in a build without it."""
    if not torch.cuda.is_available() or not torch.distributed.is_nccl_available():
        return NONE
    version = torch.cuda.nccl.version()  # type: ignore[no-untyped-call]
    return ".".join(str(part) for part in version)


def _cudnn() -> str:
    version: int | None = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
    return NONE if version is None else str(version)

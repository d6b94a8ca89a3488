"""GPUs: what hangs on PCI, joined with what the NVIDIA driver tells."""

from __future__ import annotations

from msgspec.structs import replace

from filmgate.machine.facts import Facts
from filmgate.machine.nvml import NvLink, Nvml, NvmlGpu
from filmgate.machine.pci import AMD, INTEL, NVIDIA, Link, PciDevice, narrowest

_MAKERS = {NVIDIA: "NVIDIA", AMD: "AMD", INTEL: "Intel"}


class Gpu(Facts, frozen=True, kw_only=True):
    """One GPU."""

    index: int
    """As the driver counts; in order of PCI address where there is no driver."""
    name: str | None
    """Product name; maker and number of the device where there is no driver."""
    memory_bytes: int | None
    """Memory of its own."""
    pci_address: str | None
    """``0000:65:00.0``."""
    numa_node: int | None
    """Node that it hangs on."""
    near_cpus: str | None
    """Hardware threads near it, as the kernel lists them."""
    link: Link | None
    """Its PCI Express link now; an idle GPU turns the generation down."""
    link_max: Link | None
    """The most that the GPU can."""
    slot_max: Link | None
    """The most that what it is plugged into can."""
    path: Link | None
    """The slowest link between it and its root port, now."""
    path_at: str | None
    """PCI address of the device whose link that is."""
    nvlinks: list[NvLink] | None
    """NVLinks that are up; empty: none."""
    nvml: NvmlGpu | None
    """What the driver tells; None without it."""


def read_gpus(nvml: Nvml | None, devices: list[PciDevice]) -> list[Gpu]:
    """All GPUs, those of the driver first, by index."""
    by_address = {device.address: device for device in devices}
    told = nvml.gpus if nvml else []
    why = nvml.why("gpus") if nvml else "the capture has no answers of NVML"
    gpus = [_join(one, by_address) for one in told]
    seen = {one.pci_address for one in told}
    untold = [one for one in devices if one.kind == "gpu" and one.address not in seen]
    for index, device in enumerate(untold, start=len(gpus)):
        gpus.append(_without_driver(index, device, by_address, why))
    return gpus


def _join(told: NvmlGpu, devices: dict[str, PciDevice]) -> Gpu:
    device = devices.get(told.pci_address)
    link = _link(told.pcie_generation, told.pcie_width) or (device.link if device else None)
    own_width = device.link_max.width if device and device.link_max else told.pcie_width_max
    gpu = Gpu(
        index=told.index,
        name=told.name,
        memory_bytes=told.memory_bytes,
        pci_address=told.pci_address,
        numa_node=None,
        near_cpus=None,
        link=link,
        link_max=_link(told.pcie_generation_gpu, own_width)
        or (device.link_max if device else None),
        slot_max=None,
        path=None,
        path_at=None,
        nvlinks=told.nvlinks,
        nvml=told,
        unknown={
            field: told.why(field)
            for field in ("name", "memory_bytes", "nvlinks")
            if getattr(told, field) is None
        }
        | {"link": told.why("pcie_generation"), "link_max": told.why("pcie_generation_gpu")},
    )
    return _placed(gpu, device, devices)


def _without_driver(index: int, device: PciDevice, devices: dict[str, PciDevice], why: str) -> Gpu:
    maker = _MAKERS.get(device.vendor or "", device.vendor or "unknown")
    number = (device.device or "").removeprefix("0x")
    gpu = Gpu(
        index=index,
        name=f"{maker} device {number}" if number else None,
        memory_bytes=None,
        pci_address=device.address,
        numa_node=None,
        near_cpus=None,
        link=device.link,
        link_max=device.link_max,
        slot_max=None,
        path=None,
        path_at=None,
        nvlinks=None,
        nvml=None,
        unknown=dict.fromkeys(("memory_bytes", "nvlinks", "nvml"), why),
    )
    return _placed(gpu, device, devices)


def _placed(gpu: Gpu, device: PciDevice | None, devices: dict[str, PciDevice]) -> Gpu:
    """The GPU with what PCI tells of its place."""
    if device is None:
        absent = f"/sys/bus/pci/devices does not show {gpu.pci_address}"
        fields = ("numa_node", "near_cpus", "slot_max", "path", "path_at")
        unknown = gpu.unknown | dict.fromkeys(fields, absent)
        known = {field for field in unknown if getattr(gpu, field) is not None}
        return replace(gpu, unknown={name: unknown[name] for name in unknown.keys() - known})
    above = devices.get(device.above[-1]) if device.above else None
    slowest = narrowest(device, devices)
    known = {field for field in gpu.unknown if getattr(gpu, field) is not None}
    unknown = {field: why for field, why in gpu.unknown.items() if field not in known}
    for field in ("numa_node", "near_cpus", "link", "link_max"):
        if getattr(device, field) is None and getattr(gpu, field) is None:
            unknown[field] = device.why(field)
    if slowest is None:
        unknown["path"] = device.why("link")
    return replace(
        gpu,
        numa_node=device.numa_node,
        near_cpus=device.near_cpus,
        slot_max=above.link_max if above else None,
        path=slowest[0] if slowest else None,
        path_at=slowest[1] if slowest else None,
        unknown=unknown,
    )


def _link(generation: int | None, width: int | None) -> Link | None:
    return Link(generation=generation, width=width) if generation and width else None

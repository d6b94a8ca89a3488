"""A server in balance around the chosen cards, and the checklist that it would pass."""

from __future__ import annotations

import math

from msgspec.structs import replace

from filmgate.plan.cards import Card
from filmgate.plan.demand import READ_HEADROOM, STORAGE, Demand, Footage, drives_for, storage_for
from filmgate.plan.memory import MemoryEstimate
from filmgate.plan.request import Assumption, PlanRequest
from filmgate.plan.sync import Scaling, joins
from filmgate.records import Record
from filmgate.units import format_bytes

GPUS_FOR_NVLINK = 4
GPUS_IN_A_MACHINE = 8
LEAST_CORES_PER_GPU = 8
"""Below which the checklist fails, whatever the job says of its feed."""
RULE_RAM_PER_VRAM = 2
RAM_STEP = 32 * 10**9
DRIVE_BYTES = 4e12
LANES_OF_A_DRIVE, LANES_OF_A_NIC, LANES_BESIDE = 4, 16, 8
CORE_WATTS, DRIVE_WATTS, RAM_WATTS_PER_GB, BOARD_WATTS = 5.0, 12.0, 0.35, 80.0
FAN_SHARE = 0.10
"""Of everything else, for fans. Assumed."""
PSU_LOAD_SHARE = 0.8
"""Of a power supply's rating that a load of hours should take (NEC: 80 % for continuous loads)."""
TRANSIENT_TIMES = 1.5
"""Card power for milliseconds over its printed power; single cards were seen at 1.3 to 2."""
BTU_PER_HOUR = 3.412
"""Of one watt."""
SYNC_EFFICIENCY = 0.9
"""Scaling efficiency below which a faster network is asked for."""


class ServerLine(Record, frozen=True):
    """One thing that the server has, and the line of the checklist that it answers."""

    check: str
    """Name of the line in `filmgate audit`."""
    has: str
    """What the server has."""
    why: str
    """What asks for it."""


class Server(Record, frozen=True):
    """One machine of the plan; several alike where ``num_machines`` says so."""

    num_machines: int
    """Machines of this kind."""
    card: str
    """Which card."""
    gpus: int
    """Cards in each machine."""
    vram_bytes: int
    """Memory of all its cards."""
    need_vram_bytes: int
    """What the job takes of it, by the upper bound."""
    cores: int
    """CPU cores."""
    ram_bytes: int
    """Main memory."""
    need_ram_bytes: int
    """What the job takes of it."""
    drives: int
    """NVMe drives in RAID 0 for the dataset, beside those of the system and the checkpoints."""
    read_bytes_per_second: float
    """What they have to read."""
    lanes: int
    """PCI Express lanes that cards, drives and network take."""
    sockets: int
    """Processors, for the lanes and the cores."""
    nvlink: bool
    """Whether NVLink or its like joins all cards of a machine."""
    nic_bits_per_second: float
    """Network."""
    load_watts: float
    """What the machine draws at full load."""
    psu_watts: int
    """What its power supplies have to be rated for, redundant ones not counted."""
    heat_btu_per_hour: float
    """What the room has to take away."""
    lines: list[ServerLine]
    """The checklist that it would pass."""
    warnings: list[str]
    """What does not go together, a sentence each."""
    assumed: list[Assumption]
    """What was assumed, with its source."""


def server_for(
    card: Card,
    request: PlanRequest,
    estimate: MemoryEstimate,
    demand: Demand,
    footage: Footage,
    scalings: list[Scaling],
) -> Server:
    """The server; more cards than a machine takes are divided over machines alike."""
    machines = math.ceil(request.gpus / GPUS_IN_A_MACHINE)
    gpus = math.ceil(request.gpus / machines)
    each = gpus / request.gpus
    cores = max(LEAST_CORES_PER_GPU * gpus, math.ceil(demand.cores.high * each))
    need_ram = math.ceil(demand.ram_bytes.low * each)
    vram = card.memory_bytes * gpus
    ram = RAM_STEP * math.ceil(max(need_ram, RULE_RAM_PER_VRAM * vram) / RAM_STEP)
    read = demand.read_bytes_per_second.high * each * READ_HEADROOM
    drives = max(storage_for(read).drives, drives_for(footage.size_bytes or 0, DRIVE_BYTES), 1)
    lanes = gpus * (card.pcie_width or 0) + (drives + 2) * LANES_OF_A_DRIVE
    lanes += LANES_OF_A_NIC + LANES_BESIDE
    load = _load_watts(card, gpus, cores, ram, drives)
    nic = _nic_bits(scalings, machines)
    server = Server(
        num_machines=machines,
        card=card.name,
        gpus=gpus,
        vram_bytes=vram,
        need_vram_bytes=gpus * (estimate.reserved_high_bytes + estimate.context_high_bytes),
        cores=cores,
        ram_bytes=ram,
        need_ram_bytes=need_ram,
        drives=drives,
        read_bytes_per_second=read,
        lanes=lanes,
        sockets=2 if lanes > 128 or cores > 96 else 1,
        nvlink=gpus > 1 and joins(card, cards=gpus),
        nic_bits_per_second=nic,
        load_watts=load,
        psu_watts=_psu_watts(card, gpus, load),
        heat_btu_per_hour=load * BTU_PER_HOUR,
        lines=[],
        warnings=_warnings(card, gpus, read),
        assumed=_assumed(),
    )
    return _with_lines(server)


def _load_watts(card: Card, gpus: int, cores: int, ram: int, drives: int) -> float:
    parts = gpus * (card.power_watts or 0.0) + cores * CORE_WATTS + BOARD_WATTS
    parts += (drives + 2) * DRIVE_WATTS + ram / 1e9 * RAM_WATTS_PER_GB
    return parts * (1 + FAN_SHARE)


def _psu_watts(card: Card, gpus: int, load: float) -> int:
    """The larger of hours at full load and milliseconds with all cards at their peak."""
    peak = load + gpus * (card.power_watts or 0.0) * (TRANSIENT_TIMES - 1)
    return 100 * math.ceil(max(load / PSU_LOAD_SHARE, peak) / 100)


def _nic_bits(scalings: list[Scaling], machines: int) -> float:
    """10 Gb/s for one machine; for several the slowest network that keeps most of the speed."""
    if machines == 1:
        return 10e9
    rates = {"Ethernet 100 Gb/s": 100e9, "InfiniBand 200 Gb/s": 200e9, "InfiniBand 400 Gb/s": 400e9}
    for scaling in scalings:
        if scaling.interconnect in rates and scaling.efficiency.low >= SYNC_EFFICIENCY:
            return max(200e9, rates[scaling.interconnect])
    return 400e9


def _warnings(card: Card, gpus: int, read: float) -> list[str]:
    found = []
    if card.power_watts is None:
        found.append(f"the table does not know what {card.name} draws: power is too low here")
    if card.form != "PCIe card" and card.form is not None:
        found.append(f"{card.name} is {card.form}: it comes with its board, eight in a machine")
    if gpus >= GPUS_FOR_NVLINK and not joins(card, cards=gpus):
        found.append(f"no NVLink joins {gpus} of {card.name}: the checklist warns from four on")
    if read > STORAGE[-1].bytes_per_second.low:
        found.append("no usual storage reads that fast: keep frames in RAM, or make a copy")
    return found


def _with_lines(server: Server) -> Server:
    """The server with the lines that follow from what it has."""
    gigabytes = server.ram_bytes / 1e9
    told = [
        ("dataset-drives", _drives_words(server.drives),
         f"the loader reads up to {format_bytes(server.read_bytes_per_second)}/s with headroom"),
        ("read-rate", f"{format_bytes(server.read_bytes_per_second)}/s sustained", "the feed"),
        ("apart-from-system", "a drive of its own for the system", "the checklist"),
        ("apart-from-checkpoints", "a drive of its own for checkpoints", "the checklist"),
        ("gpu-memory", f"{server.gpus} x {server.card}, {server.vram_bytes / 2**30:.0f} GiB",
         f"the job takes up to {server.need_vram_bytes / 2**30:.1f} GiB"),
        ("gpu-links", "NVLink between the cards" if server.nvlink else "PCI Express",
         "from four cards on"),
        ("pcie-links", f"{server.lanes} lanes, {_sockets_words(server.sockets)}",
         "every card and drive at its full width"),
        ("cores-per-gpu", f"{server.cores} cores", "what the feed takes, at least 8 for each card"),
        ("main-memory", f"{gigabytes:.0f} GB, with ECC",
         f"the job takes {server.need_ram_bytes / 1e9:.0f} GB; at least twice the cards' memory"),
        ("interconnect", f"{server.nic_bits_per_second / 1e9:.0f} Gb/s",
         "gradients between machines" if server.num_machines > 1 else "staging and handing out"),
        ("power-cooling", f"{server.psu_watts} W of power supply, "
         f"{server.heat_btu_per_hour:.0f} BTU/h of cooling",
         f"{server.load_watts:.0f} W at full load, and cards that peak at 1.5 times"),
        ("remote-management", "a BMC", "the checklist"),
        ("checkpoint-storage", "RAID 1 for the checkpoints", "a drive may fail"),
        ("backup", "a second copy on another machine", "the checklist"),
    ]  # fmt: skip
    if server.num_machines > 1:
        told.append(("rdma", "RDMA on every port", "several machines"))
    lines = [ServerLine(check=check, has=has, why=why) for check, has, why in told]
    return replace(server, lines=lines)


def _drives_words(drives: int) -> str:
    if drives == 1:
        return "one NVMe drive for the dataset"
    return f"{drives} NVMe drives in RAID 0 for the dataset"


def _sockets_words(sockets: int) -> str:
    return "one socket" if sockets == 1 else f"{sockets} sockets"


def _assumed() -> list[Assumption]:
    source = "filmgate's assumption"
    return [
        Assumption(name="power of a core", value=f"{CORE_WATTS:g} W", source=source),
        Assumption(name="power of a drive", value=f"{DRIVE_WATTS:g} W", source=source),
        Assumption(name="cards in a machine", value=f"{GPUS_IN_A_MACHINE}", source=source),
        Assumption(
            name="peak of a card for milliseconds", value=f"{TRANSIENT_TIMES:g} times its power",
            source="reports of single cards at 1.3 to 2 times",
        ),
    ]  # fmt: skip

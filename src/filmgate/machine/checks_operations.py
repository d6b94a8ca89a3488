"""The checklist's part on operations: much of it only people know."""

from __future__ import annotations

from filmgate.machine.checks_data import RULES, apart_finding, place_or_finding
from filmgate.machine.filesystems import Place
from filmgate.machine.item import Finding
from filmgate.machine.machine import Machine
from filmgate.machine.needs import Needs


def power_cooling(machine: Machine, needs: Needs) -> Finding:
    """Power and cooling stand the total that the machine can draw."""
    watts = [gpu.nvml.power_limit_watts for gpu in machine.gpus if gpu.nvml]
    told = [limit for limit in watts if limit is not None]
    if machine.gpus and len(told) == len(machine.gpus):
        seen = f"the GPUs may draw {sum(told):.0f} W together; "
    else:
        seen = ""
    return Finding(
        status="unknown",
        evidence=f"{seen}no machine knows its circuit and its room",
        next_step='--attest "power-cooling=yes: ..." keeps what people say; a soak proves it',
    )


def remote_management(machine: Machine, needs: Needs) -> Finding:
    """The machine can be managed while it does not run (IPMI, BMC, Redfish)."""
    bmc = machine.bmc
    if bmc.is_there is None:
        return Finding(
            status="unknown", evidence=bmc.why("is_there"),
            next_step='attest it: --attest "remote-management=yes: ..."',
        )  # fmt: skip
    if bmc.is_there:
        return Finding(status="ok", evidence=bmc.evidence or "")
    if machine.cpu.is_virtual_machine:
        return Finding(status="not present", evidence=bmc.evidence or "")
    return Finding(
        status="fail", evidence=bmc.evidence or "", bar_from=RULES,
        bar="remote management that works while the machine does not",
        next_step="a card or a switched socket that can turn it off and on from afar",
    )  # fmt: skip


def checkpoint_storage(machine: Machine, needs: Needs) -> Finding:
    """One drive that fails does not take the checkpoints with it."""
    place = place_or_finding(machine, needs.checkpoints, "--checkpoints")
    if isinstance(place, Finding):
        return place
    mount = place.filesystem
    if mount.is_network:
        return Finding(status="ok", evidence=f"{mount.mount_point} ({mount.kind}) on a server")
    redundant = {"raid1", "raid10", "raid4", "raid5", "raid6"}
    levels = {raid.name: raid.level for raid in machine.raids}
    names = _chain(machine, mount.device)
    level = next((levels[name] for name in names if name in levels), None)
    if level in redundant:
        return Finding(status="ok", evidence=f"{mount.mount_point} on {level}")
    if _is_hidden(place):
        return Finding(
            status="unknown",
            evidence=f"{mount.mount_point} ({mount.kind}): its drives are not to be seen",
            next_step="ask who runs the storage, and attest it",
        )
    how = level or f"{len(place.drives)} drive{'s' if len(place.drives) > 1 else ''} without RAID"
    return Finding(
        status="warn", evidence=f"{mount.mount_point} on {how}: one failure loses them",
        bar="separate, reliable storage", bar_from=RULES,
        next_step="RAID 1 for checkpoints, or a second copy with --second-copy",
    )  # fmt: skip


def _is_hidden(place: Place) -> bool:
    return not place.drives or any(
        drive.kind == "virtual" or drive.behind_controller for drive in place.drives
    )


def _chain(machine: Machine, device: str | None) -> list[str]:
    """A device and everything that it is made of."""
    drives, names = {drive.name: drive for drive in machine.drives}, []
    left = [device] if device else []
    while left:
        name = left.pop()
        if name not in names:
            names.append(name)
            left += drives[name].below if name in drives else []
    return names


def backup(machine: Machine, needs: Needs) -> Finding:
    """Checkpoints and models have a second copy on storage of its own."""
    if needs.second_copy is None:
        return Finding(
            status="unknown", evidence="the path of a second copy was not told",
            next_step="name it with --second-copy, or attest the backup",
        )  # fmt: skip
    return apart_finding(
        machine, (needs.second_copy, "--second-copy"), (needs.checkpoints, "--checkpoints"),
        ("the second copy", "the checkpoints"),
    )  # fmt: skip

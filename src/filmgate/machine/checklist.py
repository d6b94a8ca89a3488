"""The deployment checklist: every line, the check behind it, and the audit over all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from filmgate.machine import checks_compute as compute
from filmgate.machine import checks_data as data
from filmgate.machine import checks_memory as memory
from filmgate.machine import checks_near as near
from filmgate.machine import checks_network as network
from filmgate.machine import checks_operations as operations
from filmgate.machine.attested import Attestation
from filmgate.machine.item import Audit, Finding, Item, Topic
from filmgate.machine.machine import Machine
from filmgate.machine.needs import Needs
from filmgate.records import Header


@dataclass(frozen=True, kw_only=True)
class Check:
    """One line of the checklist."""

    name: str
    topic: Topic
    judge: Callable[[Machine, Needs], Finding]
    question: str = ""
    """What a person is asked where the machine does not know; empty: nobody is asked."""

    @property
    def line(self) -> str:
        """What ought to hold: the first line of the check's docstring."""
        return (self.judge.__doc__ or "").splitlines()[0]


CHECKS: tuple[Check, ...] = (
    Check(
        name="dataset-drives", topic="data", judge=data.dataset_drives,
        question="Does the dataset lie on NVMe drives in RAID 0?",
    ),
    Check(name="raid-health", topic="data", judge=data.raid_health),
    Check(name="drive-links", topic="data", judge=data.drive_links),
    Check(
        name="apart-from-system", topic="data", judge=data.apart_from_system,
        question="Is the dataset's storage apart from the operating system's?",
    ),
    Check(
        name="apart-from-checkpoints", topic="data", judge=data.apart_from_checkpoints,
        question="Is the dataset's storage apart from the checkpoints'?",
    ),
    Check(name="read-rate", topic="data", judge=data.read_rate),
    Check(name="driver", topic="compute", judge=compute.driver),
    Check(name="gpu-memory", topic="compute", judge=compute.gpu_memory),
    Check(name="gpu-links", topic="compute", judge=compute.gpu_links),
    Check(name="pcie-links", topic="compute", judge=compute.pcie_links),
    Check(name="gpu-health", topic="compute", judge=compute.gpu_health),
    Check(name="cores-per-gpu", topic="compute", judge=compute.cores_per_gpu),
    Check(name="cpu-limit", topic="compute", judge=compute.cpu_limit),
    Check(name="near-gpu", topic="compute", judge=near.near_gpu),
    Check(name="near-storage", topic="compute", judge=near.near_storage),
    Check(name="main-memory", topic="memory", judge=memory.main_memory),
    Check(name="shared-memory", topic="memory", judge=memory.shared_memory),
    Check(name="memory-errors", topic="memory", judge=memory.memory_errors),
    Check(
        name="interconnect", topic="network", judge=network.interconnect,
        question="Does the network between the nodes carry 200 Gb/s or more?",
    ),
    Check(name="rdma", topic="network", judge=network.rdma_ports),
    Check(name="roce", topic="network", judge=network.roce),
    Check(
        name="power-cooling", topic="operations", judge=operations.power_cooling,
        question="Do power and cooling stand all that the machine can draw?",
    ),
    Check(
        name="remote-management", topic="operations", judge=operations.remote_management,
        question="Can the machine be managed from afar while it does not run?",
    ),
    Check(
        name="checkpoint-storage", topic="operations", judge=operations.checkpoint_storage,
        question="Do the checkpoints survive the failure of a drive?",
    ),
    Check(
        name="backup", topic="operations", judge=operations.backup,
        question="Do checkpoints and models have a second copy on storage of its own?",
    ),
)  # fmt: skip


def audit_machine(machine: Machine, needs: Needs, answers: list[Attestation]) -> Audit:
    """Every line judged; the same machine, needs and answers give the same items."""
    by_item = {answer.item: answer for answer in answers}
    return Audit(
        header=Header(schema="filmgate.audit", schema_version=1),
        machine=machine.origin,
        product=machine.bmc.product,
        needs=needs,
        items=[_item(check, machine, needs, by_item.get(check.name)) for check in CHECKS],
    )


def questions(audit: Audit) -> list[tuple[str, str]]:
    """(line, question) for what the machine does not know and nobody has answered."""
    asked = {check.name: check.question for check in CHECKS}
    return [
        (item.name, asked[item.name])
        for item in audit.items
        if item.status == "unknown" and asked[item.name] and item.attestation is None
    ]


def _item(check: Check, machine: Machine, needs: Needs, answer: Attestation | None) -> Item:
    finding = check.judge(machine, needs)
    if answer is not None and finding.status == "unknown":
        finding = _attested(finding, answer)
    return Item(
        name=check.name,
        topic=check.topic,
        line=check.line,
        status=finding.status,
        evidence=finding.evidence,
        next_step=finding.next_step,
        bar=finding.bar,
        bar_from=finding.bar_from,
        attestation=answer,
    )


def _attested(finding: Finding, answer: Attestation) -> Finding:
    """A person's answer where the machine does not know; a no is a fail."""
    said = "it holds" if answer.holds else "it does not hold"
    note = f": {answer.note}" if answer.note else ""
    return Finding(
        status="attested" if answer.holds else "fail",
        evidence=f"{answer.who} said on {answer.date} that {said}{note}. {finding.evidence}",
        next_step="" if answer.holds else finding.next_step,
        bar=finding.bar,
        bar_from=finding.bar_from,
    )

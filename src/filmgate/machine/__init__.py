"""What a machine is made of, read and never guessed; the checklist over it."""

from filmgate.machine.checklist import audit_machine
from filmgate.machine.facts import Facts, Gaps
from filmgate.machine.item import Audit
from filmgate.machine.machine import Machine
from filmgate.machine.needs import Needs
from filmgate.machine.open_machine import open_machine

__all__ = ["Audit", "Facts", "Gaps", "Machine", "Needs", "audit_machine", "open_machine"]

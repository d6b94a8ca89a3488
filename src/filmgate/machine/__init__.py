"""What a machine is made of, read and never guessed; the checklist over it."""

from filmgate.machine.facts import Facts, Gaps
from filmgate.machine.tree import FolderTree, MemoryTree, Tree

__all__ = ["Facts", "FolderTree", "Gaps", "MemoryTree", "Tree"]

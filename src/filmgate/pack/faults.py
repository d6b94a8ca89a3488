"""What does not fit in annotations: counted by kind, the first of each named."""

from __future__ import annotations

from typing import Literal

from filmgate.pack.rows import AnnotationFault

MAX_EXAMPLES = 10
Done = Literal["dropped", "clipped", "kept"]


class Faults:
    """Counts faults."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, Done], int] = {}
        self._examples: dict[tuple[str, Done], list[str]] = {}

    def note(self, kind: str, example: str, *, done: Done = "dropped", count: int = 1) -> None:
        """Count one kind of fault."""
        key = (kind, done)
        self._counts[key] = self._counts.get(key, 0) + count
        examples = self._examples.setdefault(key, [])
        if len(examples) < MAX_EXAMPLES:
            examples.append(example)

    def listed(self) -> list[AnnotationFault]:
        """All kinds, by name."""
        return [
            AnnotationFault(kind=key[0], done=key[1], count=count, examples=self._examples[key])
            for key, count in sorted(self._counts.items())
        ]

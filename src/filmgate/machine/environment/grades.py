"""How much a difference can do, in five grades."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

Grade = Literal["identical", "cosmetic", "performance", "results", "breaks"]
"""``identical``: no difference. ``cosmetic``: nothing that is computed. ``performance``: how fast.
``results``: losses and pixels can differ, if only in their last digits. ``breaks``: what ran here
does not run there."""

GRADES: tuple[Grade, ...] = get_args(Grade)
IN_WORDS: dict[Grade, str] = {
    "identical": "identical",
    "cosmetic": "cosmetic",
    "performance": "performance",
    "results": "can change results",
    "breaks": "breaks",
}


def worst(grades: Iterable[Grade]) -> Grade:
    """The highest of them; ``identical`` of none."""
    return max(grades, key=GRADES.index, default="identical")


def is_worse(grade: Grade, allowed: Grade) -> bool:
    """Whether it does more than what is allowed."""
    return GRADES.index(grade) > GRADES.index(allowed)

"""What the user says of money, time and walls, and what a way to have the machine costs."""

from __future__ import annotations

from typing import Literal

from filmgate.errors import UserError
from filmgate.plan.interval import Interval
from filmgate.records import Record

HOURS_IN_MONTH = 730.0
Way = Literal["own", "cloud", "spot", "hybrid"]


class CostWish(Record, frozen=True):
    """What the user says of money, time and walls. Checked by ``check_wish``."""

    hours_per_month: float = 200.0
    """Hours in which the machine works, of 730."""
    life_months: float = 36.0
    """After which it is sold."""
    residual_share: float = 0.2
    """Of its price that it then brings."""
    pue: float = 1.4
    """Power of the room over that of the machine."""
    idle_share: float = 0.15
    """Power at rest over that at full load, in the hours in which it does not work."""
    stored_gb: float | None = None
    """Kept in the cloud; None: the videos' own size, where it is known."""
    egress_gb_per_month: float = 50.0
    """Results that leave the cloud."""
    private: bool = False
    """Whether the videos may not leave the building."""
    deadline_hours: float | None = None
    """Wall time after which the job has to be done."""
    burst_share: float = 0.0
    """Part of the hours that come in bursts beyond what an own machine of this size can take."""


class CostLine(Record, frozen=True):
    """One part of a monthly cost."""

    name: str
    """What is paid for."""
    usd_per_month: Interval
    """Dollars."""


class WayCost(Record, frozen=True):
    """One way to have the machine."""

    way: Way
    """Which."""
    usd_per_month: Interval | None
    """All of it; None where a price is missing, and ``why`` says which."""
    usd_per_hour: Interval | None
    """Of a working hour."""
    lines: list[CostLine]
    """What it is made of."""
    allowed: bool
    """Whether privacy and deadline leave it open."""
    why: str
    """What rules it out, or which price is missing; empty otherwise."""


def check_wish(wish: CostWish) -> CostWish:
    """The wish itself. Raises UserError for what cannot be, with what can."""
    bounds = {
        "hours_per_month": (0, HOURS_IN_MONTH), "life_months": (1, 240), "residual_share": (0, 1),
        "pue": (1, 5), "idle_share": (0, 1), "stored_gb": (0, 1e9),
        "egress_gb_per_month": (0, 1e9), "deadline_hours": (0.01, 1e6), "burst_share": (0, 1),
    }  # fmt: skip
    for name, (least, most) in bounds.items():
        value = getattr(wish, name)
        if value is not None and not (least <= value <= most):
            raise UserError(
                f"{name.replace('_', ' ')} is {value:g}; it lies from {least:g} to {most:g}",
                hint=f"mend --{name.replace('_', '-')}",
            )
    return wish

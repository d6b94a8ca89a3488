"""What the job costs in a month: own machine, cloud on demand, cloud on spot, or both.

Source of the formula: owned dollars an hour = [capital (1 - residual) / life + power x PUE x
hours x tariff + hosting] / hours, against the rent, storage and egress. All figures are intervals,
and so is the number of hours at which one way becomes cheaper than another.
"""

from __future__ import annotations

from filmgate.plan.cards import Card
from filmgate.plan.interval import Interval, exactly
from filmgate.plan.money import HOURS_IN_MONTH, CostWish, Way, WayCost, check_wish
from filmgate.plan.prices import Prices
from filmgate.plan.server import Server
from filmgate.plan.ways import (
    capital_share,
    hybrid_cost,
    kept_cost,
    own_cost,
    rent_of,
    rented_cost,
)
from filmgate.records import Record


class Cost(Record, frozen=True):
    """All ways, side by side."""

    wish: CostWish
    """What was asked for; defaults are filmgate's assumptions."""
    capital_usd: Interval | None
    """To buy it; None where the card has no price."""
    ways: list[WayCost]
    """Own, cloud, spot, hybrid."""
    break_even_hours: Interval | None
    """Hours a month from which on owning is cheaper than renting on demand; None: never, or not
    known. An upper bound above 730 means that it may never be."""
    break_even_says: str
    """In a sentence."""
    rework_share: Interval
    """Of the hours on spot that is done twice, from the checkpoints' interval."""
    forced: list[str]
    """What privacy, a deadline or bursts force."""


def cost_of(
    server: Server,
    card: Card,
    prices: Prices,
    wish: CostWish,
    *,
    checkpoint_seconds: Interval,
    job_hours: Interval | None = None,
    dataset_bytes: int | None = None,
) -> Cost:
    """The costs of one job on this server; ``job_hours`` is what one run of it takes."""
    check_wish(wish)
    stored = wish.stored_gb if wish.stored_gb is not None else (dataset_bytes or 0) / 1e9
    capital = capital_of(server, card, prices)
    rework = rework_share(checkpoint_seconds, prices.spot_interruptions_per_day)
    hours = exactly(wish.hours_per_month)
    own = own_cost(server, capital, prices, wish)
    cloud = rented_cost("cloud", card, server, prices, wish, hours, stored)
    spot = rented_cost("spot", card, server, prices, wish, hours.times(rework.plus(1.0)), stored)
    hybrid = hybrid_cost(server, capital, card, prices, wish, stored)
    fixed, hourly = owned_parts(server, capital, prices, wish)
    even = break_even_hours(fixed, hourly, rent_of(card, server))
    return Cost(
        wish=wish,
        capital_usd=capital,
        ways=[_limited(one, wish) for one in (own, cloud, spot, hybrid)],
        break_even_hours=even,
        break_even_says=_say_even(even, capital, card),
        rework_share=rework,
        forced=forced(wish, job_hours, server),
    )


def capital_of(server: Server, card: Card, prices: Prices) -> Interval | None:
    """Price of all machines; None where the card has none."""
    if card.price_usd is None:
        return None
    one = card.price_usd.times(float(server.gpus)).plus(prices.server_usd)
    one = one.plus(prices.ram_usd_per_gb.times(server.ram_bytes / 1e9))
    one = one.plus(prices.nvme_usd_per_tb.times((server.drives + 3) * 4.0))
    return one.times(float(server.num_machines))


def owned_parts(
    server: Server, capital: Interval | None, prices: Prices, wish: CostWish
) -> tuple[Interval | None, Interval]:
    """(Dollars a month that are paid in any case, dollars of a working hour beside them)."""
    kilowatts = server.num_machines * server.load_watts / 1000 * wish.pue
    resting = kilowatts * wish.idle_share
    hourly = prices.usd_per_kwh.times(kilowatts - resting)
    if capital is None:
        return None, hourly
    fixed = capital_share(capital, wish)
    fixed = fixed.plus(prices.hosting_usd_per_month.times(float(server.num_machines)))
    return fixed.plus(prices.usd_per_kwh.times(resting * HOURS_IN_MONTH)), hourly


def break_even_hours(
    fixed: Interval | None, hourly: Interval, rent: Interval | None
) -> Interval | None:
    """Hours a month at which owning costs what renting does; None: unknown, or never."""
    if fixed is None or rent is None or rent.high <= hourly.low:
        return None
    low = fixed.low / (rent.high - hourly.low)
    dear = rent.low - hourly.high
    return Interval(low=low, high=fixed.high / dear if dear > 0 else float(10**6))


def rework_share(checkpoint_seconds: Interval, interruptions_per_day: Interval) -> Interval:
    """Each interruption costs half a checkpoint interval, and five to twenty minutes of start."""
    lost_hours = checkpoint_seconds.times(0.5).plus(Interval(low=300.0, high=1200.0)).over(3600.0)
    return interruptions_per_day.over(24.0).times(lost_hours)


def monthly_usd(way: Way, hours: float, cost_parts: CostParts) -> Interval | None:
    """The cost of a way at other hours, for a curve."""
    if way == "own":
        if cost_parts.fixed is None:
            return None
        return cost_parts.fixed.plus(cost_parts.hourly.times(hours))
    rent = cost_parts.spot if way == "spot" else cost_parts.rent
    if rent is None:
        return None
    worked = exactly(hours)
    if way == "spot":
        worked = worked.times(cost_parts.rework.plus(1.0))
    return rent.times(worked).plus(cost_parts.kept)


class CostParts(Record, frozen=True):
    """What a curve of costs over hours is made of."""

    fixed: Interval | None
    """Dollars a month of an own machine that does nothing."""
    hourly: Interval
    """Dollars of its working hour beside that."""
    rent: Interval | None
    """Dollars of an hour that is rented on demand."""
    spot: Interval | None
    """Dollars of an hour that is rented on spot."""
    kept: Interval
    """Dollars a month for storage and egress in the cloud."""
    rework: Interval
    """Share of spot hours done twice."""


def parts_of(server: Server, card: Card, prices: Prices, cost: Cost, stored_gb: float) -> CostParts:
    """The parts of a plan's cost."""
    fixed, hourly = owned_parts(server, cost.capital_usd, prices, cost.wish)
    return CostParts(
        fixed=fixed, hourly=hourly, rent=rent_of(card, server),
        spot=rent_of(card, server, "spot"),
        kept=kept_cost(prices, cost.wish, stored_gb), rework=cost.rework_share,
    )  # fmt: skip


def forced(wish: CostWish, job_hours: Interval | None, server: Server) -> list[str]:
    """What the user's own limits leave no choice about."""
    found = []
    if wish.private:
        found.append("the videos stay in the building: only an own machine is left")
    if wish.deadline_hours is not None and job_hours is not None:
        gpus = server.gpus * server.num_machines
        times = job_hours.over(wish.deadline_hours)
        if times.low > 1:
            found.append(
                f"the deadline asks for {times.low:.1f} to {times.high:.1f} times these {gpus} "
                "cards, at equal efficiency: rent the rest, or make the job smaller"
            )
        elif times.high > 1:
            found.append("the deadline may be missed: its time lies within the step's bounds")
        else:
            found.append("the deadline is met by these cards")
    if wish.burst_share > 0:
        found.append(f"{wish.burst_share:.0%} of the hours come in bursts: own the rest, rent them")
    return found


def _limited(one: WayCost, wish: CostWish) -> WayCost:
    if not wish.private or one.way == "own":
        return one
    return WayCost(
        way=one.way, usd_per_month=one.usd_per_month, usd_per_hour=one.usd_per_hour,
        lines=one.lines, allowed=False, why="the videos may not leave the building",
    )  # fmt: skip


def _say_even(even: Interval | None, capital: Interval | None, card: Card) -> str:
    if capital is None or card.rent_usd_per_hour is None:
        missing = "price" if capital is None else "rent"
        return f"unknown: the table has no {missing} of {card.name}; tell it with --cards"
    if even is None or even.low > HOURS_IN_MONTH:
        return "renting is cheaper at any number of hours, by these prices"
    if even.high > HOURS_IN_MONTH:
        return f"owning may pay from {even.low:.0f} hours a month on, and may never pay"
    return f"owning may pay from {even.low:.0f}, and pays from {even.high:.0f} hours a month on"

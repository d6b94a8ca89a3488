"""What each way to have the machine costs a month, line by line."""

from __future__ import annotations

from msgspec.structs import replace

from filmgate.plan.cards import Card
from filmgate.plan.interval import Interval, exactly
from filmgate.plan.money import HOURS_IN_MONTH, CostLine, CostWish, Way, WayCost
from filmgate.plan.prices import Prices
from filmgate.plan.server import Server


def capital_share(capital: Interval, wish: CostWish) -> Interval:
    """Of the price that a month takes; twice the price takes twice as much."""
    return capital.times((1 - wish.residual_share) / wish.life_months)


def rent_of(card: Card, server: Server, way: Way = "cloud") -> Interval | None:
    """Dollars an hour for as many cards; None where the table knows no rent.

    The table's offers go from spot to on demand: the cheaper half of them stands for spot, the
    dearer half for demand.
    """
    rent = card.rent_usd_per_hour
    if rent is None:
        return None
    half = Interval(low=rent.low, high=rent.middle)
    if way != "spot":
        half = Interval(low=rent.middle, high=rent.high)
    return half.times(float(server.gpus * server.num_machines))


def own_cost(server: Server, capital: Interval | None, prices: Prices, wish: CostWish) -> WayCost:
    """An own machine, at rest in the hours in which it does not work."""
    if capital is None:
        return _missing("own", "the card has no price in the table")
    kilowatts = server.num_machines * server.load_watts / 1000 * wish.pue
    worked = wish.hours_per_month + wish.idle_share * (HOURS_IN_MONTH - wish.hours_per_month)
    lines = [
        CostLine(name="capital, less what it brings at the end",
                 usd_per_month=capital_share(capital, wish)),
        CostLine(name="electricity", usd_per_month=prices.usd_per_kwh.times(kilowatts * worked)),
        CostLine(name="hosting",
                 usd_per_month=prices.hosting_usd_per_month.times(float(server.num_machines))),
    ]  # fmt: skip
    return _summed("own", lines, wish)


def rented_cost(
    way: Way, card: Card, server: Server, prices: Prices, wish: CostWish, hours: Interval,
    stored_gb: float,
) -> WayCost:  # fmt: skip
    """Rented cards, on demand or on spot, for that many hours."""
    rent = rent_of(card, server, way)
    if rent is None:
        return _missing(way, "the table knows no rent of this card")
    lines = [
        CostLine(name="rent, the cheaper half of the offers" if way == "spot"
                 else "rent, the dearer half of the offers", usd_per_month=rent.times(hours)),
        CostLine(name="storage and egress", usd_per_month=kept_cost(prices, wish, stored_gb)),
    ]  # fmt: skip
    return _summed(way, lines, wish)


def hybrid_cost(
    server: Server, capital: Interval | None, card: Card, prices: Prices, wish: CostWish,
    stored_gb: float,
) -> WayCost:  # fmt: skip
    """An own machine for the steady hours, rented ones for the bursts."""
    bursts = wish.hours_per_month * wish.burst_share
    steady = replace(wish, hours_per_month=wish.hours_per_month - bursts)
    own = own_cost(server, capital, prices, steady)
    rented = rented_cost("cloud", card, server, prices, wish, exactly(bursts), stored_gb)
    if own.usd_per_month is None or rented.usd_per_month is None:
        return _missing("hybrid", own.why or rented.why)
    lines = [
        CostLine(name="own machine in the steady hours", usd_per_month=own.usd_per_month),
        CostLine(name="rented in the bursts", usd_per_month=rented.usd_per_month),
    ]
    return _summed("hybrid", lines, wish)


def kept_cost(prices: Prices, wish: CostWish, stored_gb: float) -> Interval:
    """Storage in the cloud and what leaves it, a month."""
    stored = prices.storage_usd_per_gb_month.times(stored_gb)
    return stored.plus(prices.egress_usd_per_gb.times(wish.egress_gb_per_month))


def _summed(way: Way, lines: list[CostLine], wish: CostWish) -> WayCost:
    total = exactly(0.0)
    for line in lines:
        total = total.plus(line.usd_per_month)
    hours = wish.hours_per_month
    return WayCost(
        way=way, usd_per_month=total, usd_per_hour=total.over(hours) if hours else None,
        lines=lines, allowed=True, why="",
    )  # fmt: skip


def _missing(way: Way, why: str) -> WayCost:
    return WayCost(way=way, usd_per_month=None, usd_per_hour=None, lines=[], allowed=True, why=why)

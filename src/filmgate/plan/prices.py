"""Prices of everything but cards, as a table that the user may replace."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from filmgate.plan.interval import Interval
from filmgate.plan.table import Figure, Kind, read_table, stale
from filmgate.records import Record

PRICES = Path(__file__).parent / "prices.csv"
STALE_DAYS = 180
KINDS: dict[str, Kind] = {
    "price": Kind(unit="USD", most=1_000_000, ages=True),
    "price_per_gb": Kind(unit="USD/GB", most=1_000, ages=True),
    "price_per_tb": Kind(unit="USD/TB", most=10_000, ages=True),
    "tariff": Kind(unit="USD/kWh", most=5, ages=True),
    "per_month": Kind(unit="USD/month", most=1_000_000, ages=True),
    "per_gb_month": Kind(unit="USD/GB-month", most=10, ages=True),
    "per_gb": Kind(unit="USD/GB", most=10, ages=True),
    "interruptions_per_day": Kind(unit="1/day", most=1_000, ages=True),
}
"""Figures that a price may be. Nothing costs less than nothing."""


class Prices(Record, frozen=True):
    """What things cost beside the cards."""

    server_usd: Interval
    """A machine without cards, memory and drives."""
    ram_usd_per_gb: Interval
    """Main memory."""
    nvme_usd_per_tb: Interval
    """Drives."""
    usd_per_kwh: Interval
    """The tariff."""
    hosting_usd_per_month: Interval
    """Of one machine: room, network, hands."""
    storage_usd_per_gb_month: Interval
    """In the cloud."""
    egress_usd_per_gb: Interval
    """Out of the cloud."""
    spot_interruptions_per_day: Interval
    """Of one rented machine on spot."""
    figures: list[Figure]
    """All of it, with source and date."""


def read_prices(over: Path | None = None) -> Prices:
    """The prices, a user's figures in place of the table's.

    Raises UserError for a file that is no table of prices, and for a negative one.
    """
    table = read_table(PRICES, KINDS, over)

    def of(thing: str, figure: str) -> Interval:
        """A figure that the carried table has."""
        value = table[thing][figure].value
        assert value is not None
        return value

    return Prices(
        server_usd=of("server", "price"),
        ram_usd_per_gb=of("RAM", "price_per_gb"),
        nvme_usd_per_tb=of("NVMe", "price_per_tb"),
        usd_per_kwh=of("electricity", "tariff"),
        hosting_usd_per_month=of("hosting", "per_month"),
        storage_usd_per_gb_month=of("cloud storage", "per_gb_month"),
        egress_usd_per_gb=of("egress", "per_gb"),
        spot_interruptions_per_day=of("spot", "interruptions_per_day"),
        figures=[figure for figures in table.values() for figure in figures.values()],
    )


def stale_figures(prices: Prices, today: date) -> list[Figure]:
    """Prices that are too old to be trusted."""
    return stale(prices.figures, today, after_days=STALE_DAYS)

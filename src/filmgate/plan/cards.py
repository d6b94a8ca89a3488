"""Cards: what the table tells of each, in the units that filmgate computes with.

``cards.csv`` is filmgate's own small table; a look-up never measures, and a figure that nobody
found is None.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

from filmgate.errors import UserError
from filmgate.plan.interval import Interval
from filmgate.plan.table import WORDS, YES_NO, Figure, Kind, find_thing, read_table, stale
from filmgate.records import Record

CARDS = Path(__file__).parent / "cards.csv"
STALE_DAYS = 120
"""Prices moved by half within five months of 2026."""
KINDS: dict[str, Kind] = {
    "form": Kind(unit=WORDS),
    "architecture": Kind(unit=WORDS),
    "compute_capability": Kind(unit=WORDS),
    "memory": Kind(unit="GiB", least=1, most=2048, scale=2**30),
    "bandwidth": Kind(unit="GB/s", least=10, most=50_000, scale=1e9),
    "bf16": Kind(unit="TFLOP/s", least=1, most=20_000, scale=1e12),
    "fp8": Kind(unit="TFLOP/s", least=1, most=40_000, scale=1e12),
    "matmul_bf16": Kind(unit="TFLOP/s", least=1, most=20_000, scale=1e12),
    "fp4": Kind(unit=YES_NO),
    "power": Kind(unit="W", least=10, most=5_000),
    "link": Kind(unit=WORDS),
    "link_rate": Kind(unit="GB/s", least=1, most=5_000, scale=1e9),
    "host_link": Kind(unit="GB/s", least=1, most=2_000, scale=1e9),
    "pcie_generation": Kind(unit="generation", least=1, most=7),
    "pcie_width": Kind(unit="lanes", least=1, most=32),
    "ecc": Kind(unit=YES_NO),
    "decode_engines": Kind(unit="engines", least=0, most=64),
    "price": Kind(unit="USD", least=1, most=1_000_000, ages=True),
    "rent": Kind(unit="USD/h", least=0.01, most=1_000, ages=True),
}
"""Figures that a card may have. Rates are those of one card, links are counted each way."""


class Card(Record, frozen=True):
    """One card; None: the table does not know it."""

    name: str
    """Product name."""
    form: str | None
    """``PCIe card``, ``SXM``, ``OAM``, ``superchip``: what it is plugged into."""
    compute_capability: str | None
    """As CUDA counts; ``gfx`` and a number for AMD."""
    memory_bytes: int
    """Nominal size; drivers show up to 1 % less."""
    memory_bytes_per_second: float | None
    """Bandwidth of its own memory."""
    bf16_flops_per_second: float | None
    """Dense, FP32 accumulation, as printed."""
    fp8_flops_per_second: float | None
    """Likewise; None where the card has none, or nobody told."""
    matmul_flops_per_second: float | None
    """Largest rate that somebody measured with BF16 matrices."""
    power_watts: float | None
    """The most that it draws for longer than a moment."""
    link: str | None
    """``none``, or how it is joined to other cards."""
    link_bytes_per_second: float | None
    """Each way."""
    host_bytes_per_second: float | None
    """Link to the host, each way, before packet headers."""
    pcie_generation: int | None
    """None for cards that are not on PCI Express."""
    pcie_width: int | None
    """Lanes."""
    has_ecc: bool | None
    """Whether errors in its memory can be corrected."""
    num_decode_engines: int | None
    """For video; the smaller number where sources disagree."""
    price_usd: Interval | None
    """To buy."""
    rent_usd_per_hour: Interval | None
    """On demand or spot, over those who rent it out."""
    figures: dict[str, Figure]
    """Everything that the table says of it, with source and date."""

    @property
    def supports_bf16(self) -> bool | None:
        """NVIDIA from compute capability 8.0 on; AMD's CDNA. None: not told."""
        return self._capable(8.0)

    @property
    def supports_fp8(self) -> bool | None:
        """NVIDIA from compute capability 8.9 on. The software may not use it even so."""
        return self._capable(8.9)

    def _capable(self, least: float) -> bool | None:
        told = self.compute_capability
        if told is None:
            return None
        return told.startswith("gfx") or float(told) >= least


def read_cards(over: Path | None = None) -> list[Card]:
    """All cards by name, with a user's figures in place of those of the table.

    Raises UserError for a file that is no table of cards, and for a card without memory.
    """
    table = read_table(CARDS, KINDS, over)
    return [_card(name, figures) for name, figures in table.items()]


def find_card(cards: list[Card], name: str) -> Card:
    """The card of that name. Raises UserError that names the nearest ones."""
    by_name = {card.name: card for card in cards}
    hint = "add it with --cards CSV; docs/plan.md tells the columns"
    return by_name[find_thing(by_name, name, what="card", hint=hint)]


def stale_prices(cards: list[Card], today: date) -> list[Figure]:
    """Prices that are too old to be trusted."""
    figures = [figure for card in cards for figure in card.figures.values()]
    return stale(figures, today, after_days=STALE_DAYS)


def _card(name: str, told: dict[str, Figure]) -> Card:
    memory = _low(told, "memory")
    if memory is None:
        raise UserError(
            f"card {name} has no memory in the table", hint="add a row with the figure memory"
        )
    ecc = _low(told, "ecc")
    return Card(
        name=name,
        form=_word(told, "form"),
        compute_capability=_capability(told, name),
        memory_bytes=int(memory),
        memory_bytes_per_second=_low(told, "bandwidth"),
        bf16_flops_per_second=_low(told, "bf16"),
        fp8_flops_per_second=_low(told, "fp8"),
        matmul_flops_per_second=_low(told, "matmul_bf16"),
        power_watts=_high(told, "power"),
        link=_word(told, "link"),
        link_bytes_per_second=_low(told, "link_rate"),
        host_bytes_per_second=_low(told, "host_link"),
        pcie_generation=_whole(told, "pcie_generation"),
        pcie_width=_whole(told, "pcie_width"),
        has_ecc=None if ecc is None else bool(ecc),
        num_decode_engines=_whole(told, "decode_engines"),
        price_usd=told["price"].value if "price" in told else None,
        rent_usd_per_hour=told["rent"].value if "rent" in told else None,
        figures=told,
    )


def _capability(told: dict[str, Figure], name: str) -> str | None:
    word = _word(told, "compute_capability")
    if word is not None and not word.startswith("gfx"):
        try:
            float(word)
        except ValueError:
            raise UserError(
                f"compute_capability of {name} is {word!r}", hint="write it as 9.0, or gfx942"
            ) from None
    return word


def _low(told: dict[str, Figure], figure: str) -> float | None:
    one = told.get(figure)
    return None if one is None or one.value is None else one.value.low


def _high(told: dict[str, Figure], figure: str) -> float | None:
    one = told.get(figure)
    return None if one is None or one.value is None else one.value.high


def _whole(told: dict[str, Figure], figure: str) -> int | None:
    value = _low(told, figure)
    return None if value is None else int(value)


def _word(told: dict[str, Figure], figure: str) -> str | None:
    return told[figure].word if figure in told else None

"""Bytes, seconds and rates as people write and read them."""

from __future__ import annotations

import math
import re
from decimal import Decimal

_BYTES = {"": 1, "b": 1} | {
    f"{prefix}{infix}b": base**power
    for power, prefix in enumerate("kmgtp", start=1)
    for infix, base in (("", 1000), ("i", 1024))
}
_NUMBER_AND_UNIT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*")


def parse_bytes(text: str) -> int:
    """``8GB`` is 8 * 10**9 and ``8GiB`` is 8 * 2**30; a bare number is bytes.

    Raises ValueError with the allowed units.
    """
    match = _NUMBER_AND_UNIT.fullmatch(text)
    unit = match.group(2).lower() if match else None
    if match is None or unit not in _BYTES:
        raise ValueError(f"{text!r} is no size; write a number and B, kB, MB, GB, TB or KiB..TiB")
    return int(float(match.group(1)) * _BYTES[unit])


def format_number(value: float, digits: int = 3) -> str:
    """``digits`` significant digits and never an exponent: ``1090``, ``12.3``, ``0.0081``."""
    rounded = f"{value:.{digits}g}"
    return f"{Decimal(rounded):f}" if math.isfinite(value) else rounded


def format_bytes(num_bytes: float) -> str:
    """Three significant digits and a decimal unit: ``1.23 GB``."""
    if abs(num_bytes) < 999.5:
        return f"{num_bytes:.0f} B"
    for unit in ("kB", "MB", "GB", "TB"):
        num_bytes /= 1000
        if abs(num_bytes) < 999.5:
            return f"{format_number(num_bytes)} {unit}"
    return f"{format_number(num_bytes / 1000, 4)} PB"


def format_seconds(seconds: float) -> str:
    """The two largest units that matter: ``2 h 05 min``, ``1 min 12 s``, ``3.2 s``, ``15 ms``."""
    if seconds < 1:
        return f"{format_number(seconds * 1e3)} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def counted(number: int, noun: str) -> str:
    """``1 shard``, ``2 shards``, ``3 classes``, ``1,000 copies`` without the comma."""
    if number == 1:
        return f"1 {noun}"
    if re.search(r"(s|x|ch|sh)$", noun):
        return f"{number} {noun}es"
    if re.search(r"[^aeiou]y$", noun):
        return f"{number} {noun[:-1]}ies"
    return f"{number} {noun}s"


def format_rate(per_second: float | None, noun: str) -> str:
    """``12.3 clips/s``; an unknown rate says so."""
    return "unknown" if per_second is None else f"{format_number(per_second)} {noun}/s"


def format_share(share: float | None) -> str:
    """A share of a whole as percent: ``62 %``, below ten percent with one decimal: ``0.4 %``."""
    if share is None:
        return "unknown"
    percent = 100 * share
    return f"{percent:.0f} %" if abs(percent) >= 9.95 else f"{percent:.1f} %"

"""Pages as one file each: where their templates are, and how figures are written in them."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2

from filmgate.diagnose.sentence import format_gain
from filmgate.units import format_bytes, format_rate, format_seconds, format_share

_SPACE_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|clips/s|frames/s|ms|s|min|h|[kMGTP]?B)\b|%)")


def keep_units(text: str) -> str:
    """The text with no line break between a number and its unit."""
    return _SPACE_BEFORE_UNIT.sub("\u00a0", text)


def page_environment() -> jinja2.Environment:
    """Templates, with filters for what stands on a page."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "seconds": lambda some: "none" if some is None else format_seconds(some),
        "share": format_share,
        "size": lambda some: "unknown" if some is None else format_bytes(some),
        "rate": format_rate,
        "gain": lambda remedy: keep_units(format_gain(remedy)),
        "tidy": keep_units,
    }
    return environment

"""What a value that does not fit is said to be: what was wanted, where, and what is there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

_PLACE = re.compile(r" - at `\$\.?([^`]*)`$")
_IN_WORDS = {
    "name": "letters, digits, dot, dash and underscore, a letter or digit first",
    "weights": "equal, class-balanced, or the path of a .csv file",
    "factory": "module:function",
    "size": "WIDTHxHEIGHT with sides above 0, for example 640x360, or source",
    "cache": "a size such as 8GB",
}
"""Key -> what its text has to be; the pattern behind it is for machines."""


def mismatch_words(error: msgspec.ValidationError, values: Mapping[str, Any]) -> str:
    """The error as a sentence, with the value that was given at its place in ``values``."""
    text = str(error)
    match = _PLACE.search(text)
    if match is None:
        return text
    what, place = text[: match.start()], match[1]
    key = place.rpartition(".")[2]
    if "regex" in what and key in _IN_WORDS:
        what = f"Expected {_IN_WORDS[key]}"
    value: Any = values
    for part in place.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return f"{what} - at `{place}`"
        value = value[part]
    return f"{what} - at `{place}`, which is {value!r}"

"""Where a feed stands, as plain values that go into a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from filmgate.catalog.order import Order
from filmgate.catalog.order_facts import OrderFacts
from filmgate.errors import UserError
from filmgate.records import Record


def pack_state(
    next_sample: int, order: Order, quarantined: Mapping[int, int]
) -> dict[str, int | str]:
    """The next sample, the order it belongs to, and the videos that earlier samples left out."""
    since = {row: number for row, number in quarantined.items() if number < next_sample}
    return {
        "next_sample": next_sample,
        "order_digest": order.digest,
        "order": msgspec.json.encode(order.facts).decode(),
        "quarantined": msgspec.json.encode(since).decode(),
    }


def unpack_state(state: Mapping[str, int | str], order: Order) -> tuple[int, dict[int, int]]:
    """The next sample, and video row -> sample that quarantined it.

    Raises UserError when the state is none, or belongs to another order; says what differs.
    """
    next_sample, digest = state.get("next_sample"), state.get("order_digest")
    if not isinstance(next_sample, int) or next_sample < 0 or not isinstance(digest, str):
        raise UserError(
            f"this is no state of a feed: {dict(state)!r}",
            hint="give what state_dict() returned",
        )
    if digest != order.digest:
        raise UserError(
            f"the state belongs to another order of samples: {_differences(state, order.facts)}",
            hint="go on with the catalog and job that the state was made with, or start anew",
        )
    quarantined = msgspec.json.decode(str(state.get("quarantined", "{}")), type=dict[int, int])
    return next_sample, quarantined


def _differences(state: Mapping[str, int | str], facts: OrderFacts) -> str:
    try:
        there = msgspec.json.decode(str(state.get("order", "")), type=OrderFacts)
    except msgspec.DecodeError:
        return "it does not say which"
    old, new = _flat(there), _flat(facts)
    different = [
        f"{name} was {old[name]}, is {new[name]}" for name in new if old[name] != new[name]
    ]
    return "; ".join(different) or "it does not say which"


def _flat(record: Record) -> dict[str, object]:
    """Field -> value; those of a record inside under its name, as ``augment.hue``."""
    flat: dict[str, object] = {}
    for field in msgspec.structs.fields(record):
        value = getattr(record, field.name)
        if isinstance(value, Record):
            flat |= {f"{field.name}.{name}": inner for name, inner in _flat(value).items()}
        else:
            flat[field.name] = value
    return flat

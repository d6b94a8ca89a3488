"""What `filmgate plan` and `filmgate plan validate` print for a person."""

from __future__ import annotations

from filmgate.app.output import print_text
from filmgate.app.plan_cards import MemoryPlan
from filmgate.app.show import print_rows
from filmgate.plan.memory import MemoryEstimate
from filmgate.plan.validate import RowCheck, Validation
from filmgate.units import format_share

GIB = 2**30


def show_memory_plan(plan: MemoryPlan, *, quiet: bool) -> None:
    """The peak, the cards, the levers, and unless quiet what was assumed."""
    request, estimate = plan.request, plan.estimate
    print_rows(
        [
            ("job", f"{request.mode} {request.model}, {request.frames} frames of "
                    f"{request.width}x{request.height}, batch {request.batch}"),
            ("peak", f"{_gib(estimate.allocated_bytes)} allocated, "
                     f"{_span(estimate)} reserved, in {estimate.phase} ({estimate.method})"),
            *((name, _gib(getattr(estimate.parts, name)))
              for name in estimate.parts.__struct_fields__ if getattr(estimate.parts, name)),
        ]
    )  # fmt: skip
    print_text("\n")
    print_rows(
        [
            (card.card, f"{_gib(card.memory_bytes)}: {card.verdict}"
             + ("" if card.largest_batch is None else f", batch up to {card.largest_batch}"))
            for card in plan.cards
        ]
    )  # fmt: skip
    if plan.levers:
        print_text("\nwhat would lower the peak\n")
        print_rows(
            [(lever.change, f"saves {_gib(lever.saves_bytes)}; {lever.trades}")
             for lever in plan.levers]
        )  # fmt: skip
    if not quiet and estimate.assumptions:
        print_text("\nassumed\n")
        print_rows([(f"{one.name}: {one.value}", one.source) for one in estimate.assumptions])


def show_validation(found: Validation) -> None:
    """A line for each row, then the score."""
    print_rows([(row.row, _row(row)) for row in found.rows])
    widest = "" if found.widest_ratio is None else f", widest interval {found.widest_ratio:.2f}x"
    print_text(
        f"\n{found.num_held} of {found.num_rows} rows held ({format_share(found.share_held)})"
        f"{widest}, {found.num_false_fits} said to fit that did not\n"
    )


def _row(row: RowCheck) -> str:
    if row.reserved_low_bytes is None or row.reserved_high_bytes is None:
        return f"{row.model}: not predicted: {row.reason}"
    said = f"{_number(row.reserved_low_bytes)} to {_gib(row.reserved_high_bytes)}"
    holds = "holds" if row.holds else "MISSES"
    if row.use == "out of memory":
        return f"{row.model}: {said}, out of memory on {_gib(row.published_bytes)}: " + (
            f"{row.verdict}: {holds}"
        )
    return f"{row.model}: {said}, published {_gib(row.published_bytes)}, " + (
        f"ratio {row.ratio:.2f}: {holds}"
    )


def _span(estimate: MemoryEstimate) -> str:
    return f"{_number(estimate.reserved_low_bytes)} to {_gib(estimate.reserved_high_bytes)}"


def _number(num_bytes: int) -> str:
    return f"{num_bytes / GIB:.1f}"


def _gib(num_bytes: int | None) -> str:
    return "unknown" if num_bytes is None else f"{num_bytes / GIB:.1f} GiB"

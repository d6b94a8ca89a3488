"""What `filmgate plan validate` prints for a person."""

from __future__ import annotations

from filmgate.app.output import print_text
from filmgate.app.plan_validate import PlanValidation
from filmgate.app.plan_words import seconds_span
from filmgate.app.show import print_rows
from filmgate.plan.calibrate import TimedResult, TimeScore
from filmgate.plan.validate import RowCheck
from filmgate.units import format_share

GIB = 2**30


def show_validation(found: PlanValidation) -> None:
    """A line for each row, then the score."""
    print_rows([(row.row, _row(row)) for row in found.rows])
    widest = "" if found.widest_ratio is None else f", widest interval {found.widest_ratio:.2f}x"
    print_text(
        f"\n{found.num_held} of {found.num_rows} rows held ({format_share(found.share_held)})"
        f"{widest}, {found.num_false_fits} said to fit that did not\n"
    )

    _show_times(found.times)


def _show_times(times: TimeScore) -> None:
    if not times.results:
        print_text("no row has a sec_per_step\n")
        return
    print_text("\nseconds of a step\n")
    print_rows([(row.name, _time(row)) for row in times.results])
    print_text(
        f"\n{times.num_within} of {times.num_predicted} predicted times within 15 %; each group "
        "calibrated on its first row\n"
    )


def _time(row: TimedResult) -> str:
    if row.predicted_seconds is None or row.ratio is None:
        return f"{row.group}: published {row.published_seconds:.3g} s, calibrated on it"
    holds = "holds" if row.within else "MISSES"
    return (
        f"{row.group}: {seconds_span(row.predicted_seconds)}, published "
        f"{row.published_seconds:.3g} s, ratio {row.ratio:.2f}: {holds}"
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


def _number(num_bytes: int) -> str:
    return f"{num_bytes / GIB:.1f}"


def _gib(num_bytes: int | None) -> str:
    return "unknown" if num_bytes is None else f"{num_bytes / GIB:.1f} GiB"

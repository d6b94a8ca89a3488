"""How much two sets of times differ, within which interval, and what they could have shown.

The unit is the start of a process: rounds within one start share its memory layout and the load of
the moment, so they are no independent measurements. Source: T. Kalibera, R. Jones, "Rigorous
benchmarking in reasonable time", ISMM 2013, https://doi.org/10.1145/2464157.2464160
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95
POWER = 0.80
LEAST_SPREAD = 1e-9
"""Standard error of logarithms that are all equal: the clock's own grain."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


@dataclass(frozen=True, kw_only=True)
class RatioInterval:
    """The ratio of the second set's typical value to the first's."""

    ratio: float
    low: float
    """Lower bound of the 95 % interval."""
    high: float
    """Upper bound."""
    smallest_seen: float
    """The least relative change that such sets show in 80 of 100 cases."""


@dataclass(frozen=True, kw_only=True)
class DifferenceInterval:
    """How much larger the second set's mean is."""

    difference: float
    low: float
    """Lower bound of the 95 % interval."""
    high: float
    """Upper bound."""
    smallest_seen: float
    """The least difference that such sets show in 80 of 100 cases."""


def compare_logs(before: Sequence[float], after: Sequence[float]) -> RatioInterval:
    """Welch's t interval for the difference of mean logarithms, as a ratio; at least two values.

    Times spread by factors, so their logarithms are nearer to normal, and the ratio of geometric
    means is what is estimated. Sources: B. L. Welch, Biometrika 34 (1947) 28-35, with
    Satterthwaite's degrees of freedom; for the smallest effect H. S. Bloom, "Minimum detectable
    effects", Evaluation Review 19 (1995) 547-556.
    """
    found = compare_means([math.log(x) for x in before], [math.log(x) for x in after])
    return RatioInterval(
        ratio=math.exp(found.difference),
        low=math.exp(found.low),
        high=math.exp(found.high),
        smallest_seen=math.expm1(found.smallest_seen),
    )


def compare_means(before: Sequence[float], after: Sequence[float]) -> DifferenceInterval:
    """Welch's t interval for the difference of two means; at least two values each.

    Sources: as of ``compare_logs``.
    """
    assert min(len(before), len(after)) >= 2
    share_a = statistics.variance(before) / len(before)
    share_b = statistics.variance(after) / len(after)
    error = max(math.sqrt(share_a + share_b), LEAST_SPREAD)
    freedom = _freedom(share_a, len(before), share_b, len(after))
    difference = statistics.fmean(after) - statistics.fmean(before)
    t = student_quantile((1 + CONFIDENCE) / 2, freedom)
    return DifferenceInterval(
        difference=difference,
        low=difference - t * error,
        high=difference + t * error,
        smallest_seen=(t + student_quantile(POWER, freedom)) * error,
    )


def student_quantile(probability: float, freedom: float) -> float:
    """The quantile of Student's t distribution, from 0.5 on, for 1 degree of freedom or more.

    Newton's method on the angle of ``student_cdf``: there the distribution is concave, so that it
    comes nearer from below at every step.
    """
    assert 0.5 <= probability < 1
    angle = 0.0
    for _ in range(100):
        short = probability - student_cdf(math.sqrt(freedom) * math.tan(angle), freedom)
        step = short / (_scale(freedom) * math.cos(angle) ** (freedom - 1))
        angle += step
        if step < 1e-13:
            break
    return math.sqrt(freedom) * math.tan(angle)


def student_cdf(t: float, freedom: float) -> float:
    """The probability of at most ``t`` >= 0.

    With t = sqrt(freedom) * tan(angle) the density becomes cos(angle) ** (freedom - 1), which
    Gauss and Legendre's rule integrates to machine precision over the finite range that is left.
    """
    end = math.atan(t / math.sqrt(freedom))
    heights = np.cos(end * (_NODES + 1) / 2) ** (freedom - 1)
    return 0.5 + _scale(freedom) * float(_WEIGHTS @ heights) * end / 2


def _scale(freedom: float) -> float:
    return math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)


def _freedom(share_a: float, num_a: int, share_b: float, num_b: int) -> float:
    """Satterthwaite's approximation; the smaller set's own where nothing spreads."""
    if share_a + share_b < LEAST_SPREAD**2:
        return float(min(num_a, num_b) - 1)
    below = share_a**2 / (num_a - 1) + share_b**2 / (num_b - 1)
    return max(1.0, float((share_a + share_b) ** 2 / below))

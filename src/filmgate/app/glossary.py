"""How each number of a report is defined: the footnotes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Term:
    """One footnote."""

    key: str
    """Anchor on the page."""
    name: str
    meaning: str


GLOSSARY = (
    Term(
        key="wanted",
        name="Clips/s wanted (demand)",
        meaning="Clips per step divided by the mean step time without the wait for data: what the "
        "trainer would take if it never waited. Saves and evaluation are left out.",
    ),
    Term(
        key="delivered",
        name="Clips/s delivered",
        meaning="Clips per step divided by the mean step time. Saves and evaluation are left out.",
    ),
    Term(
        key="supply",
        name="Clips/s the feed could give (supply)",
        meaning="Clips made, divided by the workers' busy time and multiplied by their number: the "
        "rate if no worker ever waited for a free place. Workers slowed by a trainer on the same "
        "cores show it here.",
    ),
    Term(
        key="au",
        name="AU (accelerator utilisation)",
        meaning="Compute time divided by total time, as MLPerf Storage defines it. Compute is "
        "forward, backward and optimizer; total is the step time and the standstill for saves. "
        "Warm-up steps and evaluation are in neither.",
    ),
    Term(
        key="counted",
        name="Steps counted",
        meaning="Left out are the first step of each attempt, the steps that used up the batches "
        "that lay ready after it, steps done again after a resume, and attempts with other "
        "settings than the newest.",
    ),
    Term(
        key="training",
        name="Training time",
        meaning="The counted steps and the standstill for saves; evaluation is apart.",
    ),
    Term(
        key="decoded",
        name="Frames decoded per frame delivered",
        meaning="A decoder has to start at a key frame, so it decodes frames that no clip asked "
        "for. 1 is ideal.",
    ),
    Term(
        key="gain",
        name="Expected gain",
        meaning="Share of the step time that a change saves, as an interval: at most what the part "
        "it shortens takes (Amdahl's law). Gains do not add up: change one thing, then look again.",
    ),
    Term(
        key="score",
        name="Held-out score",
        meaning="Share of held-out clips that the model names right; held out is the last part of "
        "each video. In brackets the 95 % interval (Wilson), which takes clips as independent; "
        "clips of one video are not quite. Chance is what guessing the largest class gets.",
    ),
    Term(
        key="confidence",
        name="Confidence",
        meaning="High: the numbers agree with each other, over both halves of the run, and are "
        "clear of the thresholds. Low: they disagree or are close.",
    ),
    Term(
        key="digest",
        name="Digest",
        meaning="BLAKE3 of the content. The same digest is the same content, wherever it lies.",
    ),
)

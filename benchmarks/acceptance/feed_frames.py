"""No wrong frame: hundreds of random lists of every file, and files that were hurt."""

from __future__ import annotations

from collections import Counter

from benchmarks.acceptance.check import Outcome, check, not_measured
from benchmarks.acceptance.place import Place
from benchmarks.acceptance.proofs import run_tests

TOPIC = "Exact frames"
LISTS = "tests/video/test_random_lists.py"
LISTS_BAR = "every frame of 500 lists of each file"


@check(
    name="lists-corpus",
    topic=TOPIC,
    line="500 random lists of frames of every real and synthetic file of the corpus equal the "
    "reference.",
    bar=LISTS_BAR,
)
def lists_of_the_corpus(place: Place) -> Outcome:
    if place.corpus is None:
        return not_measured("no corpus at ../shared/videos")
    return _lists(place, f"{LISTS}::test_hundreds_of_lists_of_the_corpus_are_exact")


@check(
    name="lists-recipes",
    topic=TOPIC,
    line="500 random lists of frames of a generated file for every recipe and format equal what "
    "the ffmpeg command line decodes.",
    bar=LISTS_BAR,
)
def lists_of_the_recipes(place: Place) -> Outcome:
    return _lists(place, f"{LISTS}::test_hundreds_of_lists_of_every_quirk_are_exact")


def _lists(place: Place, test: str) -> Outcome:
    run = run_tests(place, [test])
    totals: Counter[str] = Counter()
    for figure in run.figures:
        name, _, value = figure.rpartition(": ")
        totals[name] += int(value)
    return Outcome(
        figure=f"{run.num_passed} of {run.num_passed + len(run.failed)} files exact, "
        f"{totals['lists']} lists, {totals['frames']} frames",
        holds=run.outcome.holds,
        details=(*run.failed, *sorted(set(run.skipped))),
    )


@check(
    name="fuzz",
    topic=TOPIC,
    line="300 small files of eight codecs with flipped bits or cut ends, hurt before and after "
    "they are indexed, give a typed error or an exact frame every time; no crash, no hang. Where a "
    "decoder of HEVC, AV1, MPEG-4, MPEG-2 or JPEG does not report damage that was there before "
    "indexing, it may show memory in its place.",
    bar="no other frame; at most 2 % from memory, of those five codecs",
)
def fuzz(place: Place) -> Outcome:
    name = "test_three_hundred_hurt_files_give_typed_errors_or_exact_frames"
    run = run_tests(place, [f"tests/feed/test_fuzz.py::{name}"])
    return Outcome(
        figure=", ".join(run.figures) or run.outcome.figure,
        holds=run.outcome.holds,
        details=run.failed,
    )

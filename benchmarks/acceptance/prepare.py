"""Training copies: what they promise, and which tests and measurements hold it."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Any

from benchmarks.acceptance.check import Check, Outcome
from benchmarks.acceptance.feed_speed import PEERS_VARIABLE, peers_python
from benchmarks.acceptance.place import ROOT, Place
from benchmarks.acceptance.proofs import Proof, check_of

TOPIC = "Training copies"
DEADLINE_SECONDS = 3 * 3600
PREPARE, APP = "tests/prepare", "tests/app"

PREPARE_PROOFS = (
    Proof(
        name="S-times",
        says="A copy has the source's frames at the source's times and in its colours: own times, "
        "late starts, edit lists, turned, mirrored, wide pixels, odd sides, interlaced, 10 bits, "
        "RGB, gray, every colour tag, every codec; what cannot be copied is left out and says why.",
        tests=(f"{PREPARE}/test_sources.py", f"{PREPARE}/test_copy_files.py",
               f"{PREPARE}/test_times.py"),
    ),
    Proof(
        name="S-corpus",
        says="Every file of the corpus is copied in every layout, or left out with a sound reason.",
        tests=(f"{PREPARE}/test_corpus.py",),
    ),
    Proof(
        name="S-crash",
        says="Killed 20 times at random moments, preparing ends with the files of an uninterrupted "
        "one, none made twice.",
        tests=(f"{PREPARE}/test_kills.py",),
    ),
    Proof(
        name="S-full",
        says="A full disk stops preparing in one sentence, nothing half made stays, and with more "
        "space it goes on.",
        tests=(f"{PREPARE}/test_full_disk.py",),
    ),
    Proof(
        name="S-content",
        says="Changed bytes under the same path are prepared again, unchanged ones never; a source "
        "that changes meanwhile is left out; copies that no source needs can be pruned.",
        tests=(f"{PREPARE}/test_copies.py",
               f"{APP}/test_prepare.py::"
               "test_a_named_layout_is_made_without_measuring_and_old_copies_are_pruned"),
    ),
    Proof(
        name="prepare-measure",
        says="`filmgate prepare` measures the layouts, keeps table and page, chooses within the "
        "limits and says why.",
        tests=(f"{PREPARE}/test_choose.py", f"{PREPARE}/test_measure.py", f"{APP}/test_prepare.py"),
    ),
    Proof(
        name="prepare-run",
        says="A run makes a copy when its clips pay for one, says so either way, and comes to the "
        "same samples after kills anywhere.",
        tests=(f"{APP}/test_run_copies.py",),
    ),
)  # fmt: skip

PROMISES = {
    "bytes": ("The chosen copy takes at most 0.7 times the source's bytes.", "<= 0.7"),
    "psnr": ("The chosen copy is close to the scaled source.", ">= 38 dB"),
    "rgb": ("One core reads 30 times torchcodec's clips on the source from it, RGB.", ">= 30"),
    "yuv": ("One core reads 40 times torchcodec's clips on the source from it, YUV.", ">= 40"),
    "plain": ("And 1.6 times torchcodec's clips on a plain copy of that quality.", ">= 1.6"),
}
"""Line of benchmarks/layouts.py -> (promise, bar)."""


@cache
def _measured() -> dict[str, Any]:
    """What the benchmark's last line says, or ``error``; taken once for all lines."""
    python = peers_python()
    if not python.exists():
        return {"error": f"make peers first, or name a Python with torchcodec in {PEERS_VARIABLE}"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.layouts", "--quick", "--python", str(python)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    if done.returncode not in (0, 1) or not done.stdout.strip():
        return {"error": f"exit code {done.returncode}: {done.stderr[-1000:]}"}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _layouts_check(name: str) -> Check:
    line, bar = PROMISES[name]

    def measure(place: Place) -> Outcome:
        found = _measured()
        if "error" in found:
            return Outcome(figure=f"not measured: {found['error']}", holds=False)
        figure = found["figures"][name]
        said = "no figure" if figure is None else f"{figure:.3g}"
        return Outcome(figure=said, holds=bool(found["holds"][name]),
                       details=tuple(found["reports"]))  # fmt: skip

    return Check(name=f"layouts-{name}", topic=TOPIC, line=line, bar=bar, measure=measure)


PREPARE_CHECKS = [
    *[check_of(proof, topic=TOPIC, name=proof.name.lower()) for proof in PREPARE_PROOFS],
    *[_layouts_check(name) for name in PROMISES],
]

"""``diagnose``: read a run folder, measure, judge, and say it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from filmgate.diagnose.bound import Finding, find_bound
from filmgate.diagnose.evidence import gather_evidence
from filmgate.diagnose.history import read_history
from filmgate.diagnose.measured import Measured, measure
from filmgate.diagnose.remedies import find_remedies
from filmgate.diagnose.sentence import change_first, sentence
from filmgate.diagnose.verdict import Verdict
from filmgate.records import Header, digest_file
from filmgate.records.telemetry import AnyLine, read_telemetry

TELEMETRY = "telemetry.jsonl"
"""Name of the file in a run folder."""


def diagnose(run_folder: Path) -> Verdict:
    """What holds the run back, from its telemetry alone.

    Works on a run that is still going, was killed, or was resumed. Raises UserError when the
    folder holds no telemetry, or the telemetry is of another version.
    """
    path = run_folder / TELEMETRY
    lines = list(read_telemetry(path))
    return judge(lines, telemetry_digest=digest_file(path))


def judge(lines: Sequence[AnyLine], *, telemetry_digest: str) -> Verdict:
    """The same, from lines in hand; the digest goes into the header."""
    measured = measure(read_history(lines))
    finding = find_bound(measured)
    return _verdict(measured, finding, telemetry_digest)


def _verdict(measured: Measured, finding: Finding, telemetry_digest: str) -> Verdict:
    history, start = measured.history, measured.start
    remedies = find_remedies(measured, finding)
    return Verdict(
        header=Header(
            schema="filmgate.verdict", schema_version=1, inputs={"telemetry": telemetry_digest}
        ),
        bound=finding.bound,
        limiting_stage=measured.stages[0].name if measured.stages else None,
        confidence=finding.confidence,
        sentence=sentence(measured, finding),
        change_first=change_first(remedies, finding),
        what_would_tell=finding.what_would_tell,
        device=start.device if start else None,
        num_workers=start.num_workers if start else None,
        why_workers=start.feed_size if start else None,
        batch_size=start.batch_size if start else None,
        attempts=history.attempts,
        finished=history.finished,
        steps_counted=measured.num_steps,
        steps_left_out=history.left_out,
        step_seconds_mean=measured.step_seconds if measured.num_steps else None,
        accelerator_utilisation=measured.utilisation,
        budget=measured.budget,
        rates=measured.rates,
        stages=measured.stages,
        skipped_clips=history.skipped_clips,
        evidence=gather_evidence(measured, finding),
        remedies=remedies,
    )

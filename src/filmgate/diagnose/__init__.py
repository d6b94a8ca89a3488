"""From what a run wrote about itself to one sentence: what holds it back, and what to change.

``diagnose(run_folder)`` reads ``telemetry.jsonl`` and nothing else, so it works on a copy from
another machine, without torch and without a GPU.
"""

from filmgate.diagnose.judge import diagnose
from filmgate.diagnose.verdict import Evidence, Part, Rates, Remedy, Stage, Verdict

__all__ = ["Evidence", "Part", "Rates", "Remedy", "Stage", "Verdict", "diagnose"]

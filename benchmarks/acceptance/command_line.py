"""The command line answers at once, and prints data where data is expected."""

from __future__ import annotations

import json
import statistics
import time

from benchmarks.acceptance.check import Outcome, check
from benchmarks.acceptance.place import Place

TOPIC = "Command line"
START_UP_RUNS = 9
START_UP_BAR_SECONDS = 0.3


@check(
    name="start-up",
    topic=TOPIC,
    line="`filmgate --help` answers at once.",
    bar=f"median of {START_UP_RUNS} runs < {START_UP_BAR_SECONDS} s",
)
def start_up(place: Place) -> Outcome:
    place.run("--help")
    seconds = []
    for _ in range(START_UP_RUNS):
        began = time.perf_counter()
        place.run("--help")
        seconds.append(time.perf_counter() - began)
    median = statistics.median(seconds)
    return Outcome(
        figure=f"{median:.3f} s",
        holds=median < START_UP_BAR_SECONDS,
        details=(f"{min(seconds):.3f} to {max(seconds):.3f} s, after one run to warm up",),
    )


@check(
    name="json-alone",
    topic=TOPIC,
    line="`filmgate run --json` prints exactly one JSON record on stdout, talk on stderr.",
    bar="one object, nothing else",
)
def json_alone(place: Place) -> Outcome:
    job = place.write_job("short.toml", "[train]\nsteps = 4\n")
    done = place.run("run", "--job", job, "--out", place.folder / "run", "--json")
    if done.returncode != 0:
        return Outcome(figure=f"exit code {done.returncode}", holds=False, details=(done.stderr,))
    try:
        record = json.loads(done.stdout)
    except json.JSONDecodeError as error:
        return Outcome(figure=f"stdout is no JSON: {error}", holds=False, details=(done.stdout,))
    is_record = isinstance(record, dict) and "schema" in record.get("header", {})
    return Outcome(
        figure=f"one {type(record).__name__} of {len(done.stdout)} characters",
        holds=is_record,
        details=(f"{len(done.stderr.splitlines())} lines of talk on stderr",),
    )

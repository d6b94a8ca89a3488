"""The whole road: from a fresh clone, over odd footage, through kills."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.acceptance.check import Outcome, all_hold, check, not_measured
from benchmarks.acceptance.place import ROOT, Place, ffmpeg

TOPIC = "The whole road"
FIRST_RUN_BAR_SECONDS = 300
KEPT_VARIABLES = ("PATH", "HOME", "LANG")


@check(
    name="fresh-clone-run",
    topic=TOPIC,
    line="In a fresh clone with a new environment, `make run` ends with a verdict and a held-out "
    "score well above chance.",
    bar=f"under {FIRST_RUN_BAR_SECONDS} s, score at least twice chance",
)
def fresh_clone_run(place: Place) -> Outcome:
    clone = clone_into(place.folder)
    began = time.monotonic()
    done = make(clone, "run", deadline_seconds=4 * FIRST_RUN_BAR_SECONDS)
    seconds = time.monotonic() - began
    if done.returncode != 0:
        return Outcome(
            figure=f"exit code {done.returncode}", holds=False, details=(done.stderr[-2000:],)
        )
    (path,) = (clone / "runs").glob("*/run.json")
    run = json.loads(path.read_text())
    accuracy, chance = run["accuracy"], run["chance"]
    return Outcome(
        figure=f"{seconds:.0f} s, score {accuracy:.2f} where chance is {chance:.2f}",
        holds=seconds < FIRST_RUN_BAR_SECONDS and accuracy >= 2 * chance,
        details=(
            f"verdict: {run['verdict']['sentence']}",
            f"{run['num_holdout_clips']} held-out clips, {run['steps']} steps",
            *(line for line in done.stderr.splitlines() if " ... " in line or "ready in" in line),
        ),
    )


@check(
    name="fresh-clone-test",
    topic=TOPIC,
    line="In a fresh clone with a new environment, `make test` passes.",
    bar="exit code 0",
)
def fresh_clone_test(place: Place) -> Outcome:
    clone = clone_into(place.folder)
    began = time.monotonic()
    done = make(clone, "test", deadline_seconds=3600)
    lines = done.stdout.strip().splitlines()
    return Outcome(
        figure=f"exit code {done.returncode}, {time.monotonic() - began:.0f} s with the set-up",
        holds=done.returncode == 0,
        details=tuple(lines[-1:] if done.returncode == 0 else lines[-40:]),
    )


@check(
    name="odd-footage",
    topic=TOPIC,
    line="A folder of real, unusual and broken files mixed is walked to the end, and every file "
    "that was left out is listed with a reason.",
    bar="the run finishes; each file is in the catalog or listed",
)
def odd_footage(place: Place) -> Outcome:
    if place.corpus is None:
        return not_measured("no corpus at ../shared/videos")
    footage = place.folder / "footage"
    for folder in ("real", "broken", "synthetic"):
        shutil.copytree(place.corpus / folder, footage / folder)
    (footage / "broken" / "text.mp4").write_text("no video\n")
    ffmpeg("-f", "lavfi", "-i", "sine=duration=1", footage / "broken" / "sound-only.mp4")
    given = {path.name for path in footage.rglob("*") if path.is_file()}
    job = place.write_job("short.toml", "[train]\nsteps = 20\n[data]\neval_clips_per_video = 2\n")
    out = place.folder / "run"
    run = place.record("run", footage, "--job", job, "--out", out, deadline_seconds=1200)
    left_out = {Path(row["path"]).name: row["reason"] for row in run["left_out"]}
    missing = len(given) - run["num_videos"] - len(left_out)
    silent = [name for name, reason in left_out.items() if not reason]
    return Outcome(
        figure=f"{run['num_videos']} videos taken and {len(left_out)} left out of {len(given)}",
        holds=missing == 0 and not silent and "text.mp4" in left_out,
        details=tuple(f"left out: {name}: {reason}" for name, reason in sorted(left_out.items())),
    )


@check(
    name="killed-run",
    topic=TOPIC,
    line="A run killed twice with SIGKILL and started again with the same command has the final "
    "loss and the samples of an uninterrupted one, and leaves nothing behind.",
    bar="equal, bit for bit; no process and no shared memory left",
)
def killed_run(place: Place) -> Outcome:
    job = place.write_job("job.toml", "[train]\nsteps = 60\ncommit_every_steps = 10\n")
    whole = run_to_end(place, job, "whole")
    memory_before = set(shared_memory())
    for step in (17, 44):
        kill_after_step(place, job, "killed", step)
    resumed = run_to_end(place, job, "killed")
    misses = [
        f"{name}: {resumed[name]} after kills, {whole[name]} without"
        for name in ("steps", "final_loss", "samples_digest", "accuracy")
        if resumed[name] != whole[name]
    ]
    misses += [f"left in /dev/shm: {name}" for name in set(shared_memory()) - memory_before]
    misses += [f"still running: {line}" for line in processes_under(place.folder)]
    outcome = all_hold(misses, of=6, what="comparisons")
    told = f"{resumed['attempts']} attempts, final loss {resumed['final_loss']!r}"
    return Outcome(figure=outcome.figure, holds=outcome.holds, details=(told, *outcome.details))


@check(
    name="long-proofs",
    topic=TOPIC,
    line="The tests that are too long for `make test` pass.",
    bar="exit code 0",
)
def long_proofs(place: Place) -> Outcome:
    command = [sys.executable, "-m", "pytest", "-m", "slow and not gpu"]
    done = subprocess.run(
        [*command, f"--basetemp={place.folder / 'pytest'}"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    return Outcome(
        figure=lines[-1].strip("= ") if lines else f"exit code {done.returncode}",
        holds=done.returncode == 0,
        details=() if done.returncode == 0 else tuple(lines[-40:]),
    )


def run_to_end(place: Place, job: Path, name: str) -> dict[str, Any]:
    """The record of a run on the demo clips that went to its end."""
    return place.record("run", "--job", job, "--out", place.folder / name, deadline_seconds=900)


def kill_after_step(place: Place, job: Path, name: str, step: int) -> None:
    """Start the run and kill its process, and no other, once it has written the step.

    Raises AssertionError when the run ends before, TimeoutError when the step does not come.
    """
    out = place.folder / name
    command = [str(place.filmgate), "run", "--job", str(job), "--out", str(out), "--quiet"]
    deadline = time.monotonic() + 600
    with (place.folder / "killed.log").open("a") as log:
        run = subprocess.Popen(command, cwd=place.folder, stdout=log, stderr=log)
        try:
            while last_step(out / "telemetry.jsonl") < step:
                assert run.poll() is None, f"the run ended before step {step}"
                if time.monotonic() > deadline:
                    raise TimeoutError(f"step {step} did not come within 600 s")
                time.sleep(0.02)
        finally:
            run.send_signal(signal.SIGKILL)
            run.wait(timeout=60)


def last_step(telemetry: Path) -> int:
    """The newest step in the file; 0 where there is none yet."""
    try:
        lines = telemetry.read_text().splitlines()
    except FileNotFoundError:
        return 0
    steps = [
        json.loads(line)["step"] for line in lines if '"kind":"step"' in line and line[-1] == "}"
    ]
    return steps[-1] if steps else 0


def shared_memory() -> list[str]:
    """Names in /dev/shm."""
    folder = Path("/dev/shm")
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def processes_under(folder: Path) -> Iterator[str]:
    """Command lines of running processes that name the folder."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has ended meanwhile
        if str(folder) in command:
            yield command


def clone_into(folder: Path) -> Path:
    """A clone of what is committed here."""
    clone = folder / "clone"
    subprocess.run(
        ["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)],
        check=True,
        timeout=300,
    )
    return clone


def make(clone: Path, target: str, *, deadline_seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a target with a bare environment: the path, the home, and how pip is set up."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name in KEPT_VARIABLES or name.startswith("PIP_")
    }
    return subprocess.run(
        ["make", target],
        cwd=clone,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=deadline_seconds,
        check=False,
    )

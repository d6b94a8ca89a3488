"""What ``filmgate bench`` measures, held against the public tools and against the page cache.

Storage is read in turns, filmgate and fio by hand, as other programs share the disk.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.acceptance.check import Outcome, check, not_measured
from benchmarks.acceptance.place import CommandFailed, Place
from benchmarks.acceptance.proofs import Proof, check_of
from filmgate.bench.fio import Fio, find_fio, read_for
from filmgate.bench.own_reader import read_sequentially
from filmgate.bench.page_cache import cached_share, forget
from filmgate.bench.storage_figures import SEQUENTIAL
from filmgate.errors import UserError
from filmgate.machine.baseline.statistics import RatioInterval, compare_logs

TOPIC = "Bench"
LEAST_TURNS, MOST_TURNS = 10, 40
SECONDS, RAMP_SECONDS = 2.0, 1.0
CLOSE = 0.05
"""How far the two may be apart."""
FILE_BYTES, NUM_FILES = 256 << 20, 2
SECTOR_BYTES = 512
LARGELY = 0.95
TESTS, COMMANDS = "tests/bench", "tests/app/test_bench.py::test_"


@check(
    name="bench-storage-fio",
    topic=TOPIC,
    line="Sequential storage reads agree with fio run by hand.",
    bar=f"the 95 % interval of the ratio within {CLOSE:.0%}",
)
def bench_storage_fio(place: Place) -> Outcome:
    files = _files(place.folder)
    fio = _fio(files)
    if isinstance(fio, Outcome):
        return fio
    ours, theirs = [], []
    for turn in range(MOST_TURNS):
        order = (0, 1) if turn % 2 else (1, 0)  # who begins changes, as the other's echo may last
        for side in order:
            if side:
                reading = read_for(
                    fio, [[one] for one in files], SEQUENTIAL, seconds=SECONDS,
                    ramp_seconds=RAMP_SECONDS,
                )  # fmt: skip
                ours.append(reading.bytes_per_second)
            else:
                theirs.append(_by_hand(fio, files, place.folder))
        if turn + 1 >= LEAST_TURNS and _verdict(compare_logs(theirs, ours)) is not None:
            break
    found = compare_logs(theirs, ours)
    said = (
        f"{found.ratio:.3f} times fio's {statistics.median(theirs) / 1e9:.2f} GB/s "
        f"(95 % interval {found.low:.3f} to {found.high:.3f}, {len(ours)} turns)"
    )
    holds = _verdict(found)
    if holds is None:
        return not_measured(f"the disk is too uneven to tell: {said}")
    return Outcome(
        figure=said,
        holds=holds,
        details=(
            f"fio's own runs by hand: {min(theirs) / 1e9:.2f} to {max(theirs) / 1e9:.2f} GB/s; "
            f"{fio.version}, {fio.engine}",
        ),
    )


def _verdict(found: RatioInterval) -> bool | None:
    """Whether they agree; None where the interval neither lies inside the bar nor outside."""
    if found.low >= 1 - CLOSE and found.high <= 1 + CLOSE:
        return True
    return False if found.high < 1 - CLOSE or found.low > 1 + CLOSE else None


@check(
    name="bench-storage-warm",
    topic=TOPIC,
    line="A warm page cache is said, and what is called storage comes from the drive.",
    bar=f"said; at least {LARGELY:.0%} of the bytes counted by the drive",
)
def bench_storage_warm(place: Place) -> Outcome:
    files = _files(place.folder)
    fio = _fio(files)
    if isinstance(fio, Outcome):
        return fio
    for path in files:
        path.read_bytes()
    before = cached_share(files)
    part = _storage_part(place, *files)
    said = part["facts"]["page cache"]
    for path in files:
        path.read_bytes()
    share = _share_from_drive(fio, files)
    if share is None:
        return not_measured("the kernel does not count what this drive reads")
    is_said = before is not None and f"{before:.0%}".removesuffix("%") in said
    return Outcome(
        figure=f"said: {said}; {share:.0%} of the bytes counted by the drive",
        holds=is_said and share >= LARGELY,
        details=tuple(
            f"{one['name']}: {one['median'] / 1e9:.2f} GB/s"
            for one in part["measures"]
            if one["unit"] == "bytes/s"
        ),
    )


@check(
    name="bench-storage-tmpfs",
    topic=TOPIC,
    line="A folder in main memory is refused as storage, with the reason.",
    bar="exit code 2, error and hint, no figure",
)
def bench_storage_tmpfs(place: Place) -> Outcome:
    if not Path("/dev/shm").is_dir():
        return not_measured("there is no /dev/shm")
    done = place.run("bench", "storage", "--dir", "/dev/shm")
    lines = done.stderr.splitlines()
    told = any(line.startswith("error:") and "main memory" in line for line in lines)
    holds = done.returncode == 2 and told and not done.stdout and "hint:" in done.stderr
    return Outcome(figure=f"exit code {done.returncode}; {lines[0] if lines else ''}", holds=holds)


@check(
    name="bench-storage-without-fio",
    topic=TOPIC,
    line="Without fio the bench says how to get it, and gives a figure of its own under that name.",
    bar="labelled, with the way to get fio; other patterns unknown",
)
def bench_storage_without_fio(place: Place) -> Outcome:
    files = _files(place.folder)
    empty = place.folder / "nothing"
    empty.mkdir(exist_ok=True)
    part = _storage_part(place, *files, environment=os.environ | {"PATH": str(empty)})
    own = next(one for one in part["measures"] if one["name"] == "sequential-read")
    holds = (
        own["anchor"] == ""
        and "apt-get install fio" in part["facts"]["reader"]
        and "fio is not installed" in part["unknown"]["random-128k-read"]
    )
    fio = _fio(files)
    details = [] if isinstance(fio, Outcome) else [_own_beside_fio(fio, files)]
    return Outcome(
        figure=f"{own['median'] / 1e9:.2f} GB/s by its own reader; {part['facts']['reader']}",
        holds=holds,
        details=tuple(details),
    )


def _own_beside_fio(fio: Fio, files: Sequence[Path]) -> str:
    ours, theirs = [], []
    for _ in range(5):
        ours.append(read_sequentially(files, threads=8, seconds=SECONDS))
        theirs.append(
            read_for(
                fio, [[one] for one in files], SEQUENTIAL, seconds=SECONDS, ramp_seconds=0.2
            ).bytes_per_second
        )
    ratio = statistics.median(ours) / statistics.median(theirs)
    return f"its own reader gives {ratio:.2f} times what fio gives here"


def _files(folder: Path) -> list[Path]:
    paths = [folder / f"shard{number}.bin" for number in range(NUM_FILES)]
    for path in paths:
        if not path.exists():
            with path.open("wb") as file:
                for _ in range(FILE_BYTES >> 20):
                    file.write(os.urandom(1 << 20))
                os.fsync(file.fileno())
    forget(paths)
    return paths


def _fio(files: Sequence[Path]) -> Fio | Outcome:
    try:
        fio = find_fio(files[0])
    except UserError as error:
        return not_measured(error.message)
    if fio is None:
        return not_measured("fio is not installed")
    return fio if fio.direct else not_measured("this filesystem has no O_DIRECT")


def _by_hand(fio: Fio, files: Sequence[Path], folder: Path) -> float:
    """What a person would type, one job a file."""
    jobs = [
        word for number, path in enumerate(files)
        for word in (f"--name=by-hand-{number}", f"--filename={path}")
    ]  # fmt: skip
    out = folder / "fio.json"
    command = [
        fio.command, "--readonly", "--direct=1", f"--ioengine={fio.engine}", "--rw=read",
        "--bs=1M", "--iodepth=32", "--time_based", f"--runtime={SECONDS:g}",
        f"--ramp_time={RAMP_SECONDS * 1000:.0f}ms", "--group_reporting",
        "--output-format=json", f"--output={out}", *jobs,
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode != 0:
        raise CommandFailed(f"fio: exit code {done.returncode}: {done.stderr}")
    rate: int = json.loads(out.read_text())["jobs"][0]["read"]["bw_bytes"]
    return float(rate)


def _storage_part(
    place: Place, *words: Path, environment: dict[str, str] | None = None
) -> dict[str, Any]:
    done = place.run(
        "bench", "storage", *words, "--quick", "--json", environment=environment,
        deadline_seconds=600,
    )  # fmt: skip
    if done.returncode != 0:
        raise CommandFailed(f"filmgate bench storage: {done.returncode}: {done.stderr}")
    part: dict[str, Any] = json.loads(done.stdout)["parts"][0]
    return part


def _share_from_drive(fio: Fio, files: Sequence[Path]) -> float | None:
    """Bytes that the drive says it read over those that fio says; others' reads only add."""
    number = files[0].stat().st_dev
    counter = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat")
    if not counter.exists():
        return None
    before = int(counter.read_text().split()[2])
    reading = read_for(fio, [[one] for one in files], SEQUENTIAL, seconds=SECONDS, ramp_seconds=0.0)
    sectors = int(counter.read_text().split()[2]) - before
    return sectors * SECTOR_BYTES / (reading.bytes_per_second * SECONDS)


BENCH_PROOFS = (
    Proof(
        name="bench-storage-cached",
        says="Files that stay in the page cache, and a memory mount below a drive, give no figure "
        "of storage; files that are there are never written.",
        tests=(
            f"{TESTS}/test_storage.py::test_files_that_stay_in_the_cache_are_never_called_storage",
            f"{TESTS}/test_storage.py::test_a_mount_in_memory_below_a_drive_is_refused",
            f"{TESTS}/test_storage.py::test_files_that_are_there_are_read_and_not_changed",
            f"{TESTS}/test_page_cache.py",
        ),
    ),
    Proof(
        name="bench-storage-loader",
        says="The loader's reads that are replayed are about those that the reader makes.",
        tests=(f"{TESTS}/test_trace.py",),
    ),
    Proof(
        name="bench-memory",
        says="Main memory is measured with STREAM's kernels and its count, caches counted once.",
        tests=(f"{TESTS}/test_memory.py",),
    ),
    Proof(
        name="bench-all",
        says="Every part is measured in a process of its own; one that fails, dies or does not end "
        "is named and the others go on.",
        tests=(
            f"{COMMANDS}a_part_that_fails_is_named_and_the_others_go_on",
            f"{COMMANDS}a_part_that_does_not_end_is_given_up",
            f"{COMMANDS}every_part_is_measured_in_a_process_of_its_own",
        ),
    ),
    Proof(
        name="bench-read",
        says="An audit and a machine's page read the figures, and refuse another machine's.",
        tests=(
            f"{COMMANDS}an_audit_takes_need_and_measured_rate_from_a_bench",
            f"{COMMANDS}figures_stand_below_a_machines_facts",
            f"{COMMANDS}figures_of_another_machine_are_refused",
        ),
    ),
)
BENCH_CHECKS = [
    bench_storage_fio,
    bench_storage_warm,
    bench_storage_tmpfs,
    bench_storage_without_fio,
    *(check_of(proof, topic=TOPIC, name=proof.name) for proof in BENCH_PROOFS),
]

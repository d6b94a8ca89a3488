"""What cannot be done ends with an error that says what, and a hint that says what next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.acceptance.check import Outcome, all_hold, check
from benchmarks.acceptance.place import Place

Arguments = list[str | Path]


def _folder_with(place: Place, *files: tuple[str, bytes]) -> Path:
    folder = place.folder / "videos"
    folder.mkdir()
    for name, content in files:
        (folder / name).write_bytes(content)
    return folder


def _missing_folder(place: Place) -> Arguments:
    return ["run", place.folder / "nowhere"]


def _empty_folder(place: Place) -> Arguments:
    return ["run", _folder_with(place)]


def _only_unreadable_files(place: Place) -> Arguments:
    files = (("empty.mp4", b""), ("noise.mp4", b"\x00\x01" * 4000), ("text.mkv", b"no video\n"))
    return ["run", _folder_with(place, *files)]


def _unwritable_output(place: Place) -> Arguments:
    in_the_way = place.folder / "a-file"
    in_the_way.write_text("not a folder")
    return ["run", "--out", in_the_way / "run"]


def _wrong_toml(place: Place) -> Arguments:
    return ["run", "--job", place.write_job("job.toml", "[train\nsteps = 3\n")]


def _unknown_key(place: Place) -> Arguments:
    return ["run", "--job", place.write_job("job.toml", "[train]\nstep = 3\n")]


def _unknown_table(place: Place) -> Arguments:
    return ["run", "--job", place.write_job("job.toml", "[trian]\nsteps = 3\n")]


def _wrong_type(place: Place) -> Arguments:
    return ["run", "--job", place.write_job("job.toml", '[train]\nsteps = "many"\n')]


def _out_of_bounds(place: Place) -> Arguments:
    return ["run", "--job", place.write_job("job.toml", "[train]\nsteps = 0\n")]


def _missing_job(place: Place) -> Arguments:
    return ["run", "--job", place.folder / "nowhere.toml"]


def _missing_labels(place: Place) -> Arguments:
    return ["run", "--labels", str(place.folder / "nowhere.csv")]


def _unknown_option(place: Place) -> Arguments:
    return ["run", "--jbo", "job.toml"]


def _unknown_command(place: Place) -> Arguments:
    return ["rum"]


def _frames_of_nothing(place: Place) -> Arguments:
    return ["frames", place.folder / "nowhere.mp4"]


def _frames_of_text(place: Place) -> Arguments:
    return ["frames", _folder_with(place, ("text.mp4", b"no video\n")) / "text.mp4"]


def _no_catalog(place: Place) -> Arguments:
    return ["catalog", "show", place.folder]


def _no_run(place: Place) -> Arguments:
    return ["diagnose", place.folder]


CASES: tuple[Callable[[Place], Arguments], ...] = (
    _missing_folder,
    _empty_folder,
    _only_unreadable_files,
    _unwritable_output,
    _wrong_toml,
    _unknown_key,
    _unknown_table,
    _wrong_type,
    _out_of_bounds,
    _missing_job,
    _missing_labels,
    _unknown_option,
    _unknown_command,
    _frames_of_nothing,
    _frames_of_text,
    _no_catalog,
    _no_run,
)


@check(
    name="bad-input",
    topic="Command line",
    line="Input that cannot be used ends with exit code 2, an error: and a hint: line, no "
    "traceback, and nothing on stdout.",
    bar="every case",
)
def bad_input(place: Place) -> Outcome:
    misses = [
        f"{case.__name__.strip('_').replace('_', ' ')}: {miss}"
        for case in CASES
        for miss in _misses(_place_for(place, case.__name__), case)
    ]
    return all_hold(misses, of=len(CASES), what="cases")


def _place_for(place: Place, name: str) -> Place:
    folder = place.folder / name
    folder.mkdir()
    return Place(folder=folder, corpus=place.corpus, filmgate=place.filmgate)


def _misses(place: Place, case: Callable[[Place], Arguments]) -> Iterator[str]:
    """At most one line: everything that was wrong with the answer to one case."""
    done = place.run(*case(place), deadline_seconds=120)
    wrong = [
        what
        for what, found in {
            f"exit code {done.returncode}": done.returncode != 2,
            "no error: line": not done.stderr.startswith("error:")
            and "\nerror:" not in done.stderr,
            "no hint: line": "\nhint:" not in done.stderr,
            "a traceback": "Traceback" in done.stderr,
            "something on stdout": done.stdout != "",
        }.items()
        if found
    ]
    if wrong:
        yield f"{', '.join(wrong)}; stderr: {done.stderr.strip()[-300:]!r}"

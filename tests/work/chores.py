"""Functions that tests give to workers; they stand in a module so that every worker finds them."""

from __future__ import annotations

import errno
import os
import signal
import time
from pathlib import Path

from filmgate.errors import UserError, VideoError
from filmgate.records import Record
from filmgate.work import Place, Task


class Row(Record, frozen=True):
    """What a chore returns."""

    number: int
    process: int


def write_two(number: int, place: Place) -> Row:
    """Write the two outputs of task ``number``."""
    for name in outputs_of(number):
        place.path(name).write_text(f"{name} of {number}\n" * (number + 1))
    return Row(number=number, process=os.getpid())


def write_slowly(number: int, place: Place) -> Row:
    """Like write_two, in 50 ms."""
    first, last = outputs_of(number)
    place.path(first).write_text(f"{first} of {number}\n" * (number + 1))
    time.sleep(0.05)
    place.path(last).write_text(f"{last} of {number}\n" * (number + 1))
    return Row(number=number, process=os.getpid())


def only_number(number: int, place: Place) -> Row:
    """A row without files."""
    return Row(number=number, process=os.getpid())


def outputs_of(number: int) -> tuple[str, str]:
    return f"part{number % 3}/{number}.data", f"part{number % 3}/{number}.done"


def tasks_of(num_tasks: int, *, recipe: str = "1") -> list[Task[int]]:
    return [
        Task(
            key=f"{recipe}-{number}",
            name=f"chore {number}",
            payload=number,
            outputs=outputs_of(number),
            size_bytes=number,
        )
        for number in range(num_tasks)
    ]


def rows_only(num_tasks: int) -> list[Task[int]]:
    return [
        Task(key=str(number), name=f"chore {number}", payload=number) for number in range(num_tasks)
    ]


def files_below(folder: Path) -> dict[str, bytes]:
    """Name and content of every published file."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".work" not in path.parts
    }


def crash_at_three(number: int, place: Place) -> Row:
    if number == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    return write_two(number, place)


def crash_once_at_three(number: int, place: Place) -> Row:
    """The first try leaves a mark outside of its place, and dies."""
    mark = place.root.parent.parent / "mark"
    if number == 3 and not mark.exists():
        mark.touch()
        os._exit(9)
    return write_two(number, place)


def hang_at_three(number: int, place: Place) -> Row:
    if number == 3:
        time.sleep(600)
    return write_two(number, place)


def refuse_odd(number: int, place: Place) -> Row:
    if number % 2:
        raise VideoError(f"{number}.mp4", "it is odd")
    return write_two(number, place)


def wrong_setting(number: int, place: Place) -> Row:
    raise UserError("no such codec", hint="name another")


def flaky_storage(number: int, place: Place) -> Row:
    """Fails twice, then works."""
    mark = place.root.parent.parent / f"mark{number}"
    tries = len(mark.read_text()) if mark.exists() else 0
    if tries < 2:
        mark.write_text("x" * (tries + 1))
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    return write_two(number, place)


def broken_program(number: int, place: Place) -> Row:
    if number == 3:
        raise ZeroDivisionError("three")
    return write_two(number, place)


def forget_output(number: int, place: Place) -> Row:
    place.path(outputs_of(number)[0]).write_text("first only")
    return Row(number=number, process=0)


def fill_disk(number: int, place: Place) -> Row:
    place.path(outputs_of(number)[0]).write_bytes(b"\0" * 200_000)
    place.path(outputs_of(number)[1]).write_bytes(b"done")
    return Row(number=number, process=os.getpid())


def count_on(number: int, place: Place) -> Row:
    """Append to a file that stays between tries; die until it has three letters."""
    part = place.folder / "part"
    with part.open("a") as file:
        file.write("x")
    if len(part.read_text()) < 3:
        os._exit(9)
    part.rename(place.path(f"{number}.data"))
    return Row(number=number, process=os.getpid())


def hang_or_crash(number: int, place: Place) -> Row:
    if number == 2:
        time.sleep(600)
    return crash_at_three(number, place)

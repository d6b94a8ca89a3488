from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from filmgate.errors import UserError
from filmgate.records import Header
from filmgate.work import journal as journal_module
from filmgate.work.journal import Journal
from filmgate.work.lines import (
    AnyLine,
    Begun,
    Dropped,
    Failed,
    Finished,
    Output,
    Published,
    cut_off_damage,
    encode_line,
    read_lines,
)

KEYS = [f"key {number} \u00e9\n" for number in range(5)]


def finished(key: str, *, place: str | None = None, row: str = "{}") -> Finished:
    return Finished(
        key=key,
        name=f"task of {key}",
        attempts=1,
        seconds=0.5,
        worker="host:1",
        unix_seconds=1.0,
        row=msgspec.Raw(row.encode()),
        outputs=[] if place is None else [Output(name="a", size_bytes=3)],
        place=place,
    )


def failed(key: str, *, attempts: int = 1, quarantined: bool = False) -> Failed:
    return Failed(
        key=key,
        name=f"task of {key}",
        attempts=attempts,
        seconds=0.5,
        worker="host:1",
        unix_seconds=1.0,
        fault="storage went away",
        quarantined=quarantined,
    )


some_keys = st.sampled_from(KEYS)
some_lines: st.SearchStrategy[AnyLine] = st.one_of(
    st.builds(finished, some_keys, place=st.none() | st.just("p"), row=st.just('{"n": 1}')),
    st.builds(failed, some_keys, attempts=st.integers(1, 3), quarantined=st.booleans()),
    st.builds(Published, keys=st.lists(some_keys, max_size=3)),
    st.builds(Dropped, keys=st.lists(some_keys, max_size=3)),
)
State = tuple[dict[str, str], dict[str, tuple[int, bool]], set[str]]


def expected(lines: list[AnyLine]) -> State:
    """The state after the lines, by the plain meaning of each."""
    done: dict[str, str] = {}
    lost: dict[str, tuple[int, bool]] = {}
    unpublished: set[str] = set()
    for line in lines:
        match line:
            case Finished(key=key, place=place):
                lost.pop(key, None)
                done[key] = line.name
                unpublished.discard(key)
                if place is not None:
                    unpublished.add(key)
            case Failed(key=key):
                done.pop(key, None)
                unpublished.discard(key)
                lost[key] = line.attempts, line.quarantined
            case Published(keys=keys):
                unpublished -= set(keys)
            case Dropped(keys=keys):
                for key in keys:
                    done.pop(key, None)
                    lost.pop(key, None)
                    unpublished.discard(key)
    return done, lost, unpublished


def state_of(journal: Journal) -> State:
    done = {key: line.name for key in KEYS if (line := journal.finished(key)) is not None}
    lost = {
        key: (line.attempts, line.quarantined)
        for key in KEYS
        if (line := journal.failed(key)) is not None
    }
    return done, lost, {line.key for line in journal.unpublished()}


def opened(path: Path) -> Journal:
    journal = Journal(path)
    journal.open()
    return journal


@settings(max_examples=60)
@given(lines=st.lists(some_lines, max_size=12), data=st.data())
def test_every_prefix_of_the_bytes_is_the_state_after_its_whole_lines(
    lines: list[AnyLine], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        journal = opened(path)
        ends = [path.stat().st_size]
        for line in lines:
            journal.append([line], durable=False)
            ends.append(path.stat().st_size)
        assert state_of(journal) == expected(lines)
        journal.close()

        cut = data.draw(st.integers(0, ends[-1]))
        path.write_bytes(path.read_bytes()[:cut])
        whole = lines[: max(sum(end <= cut for end in ends) - 1, 0)]
        again = opened(path)
        assert state_of(again) == expected(whole)
        # It goes on from there: what is appended stands on a line of its own.
        again.append([failed(KEYS[0], attempts=7)])
        again.close()
        last = opened(path)
        assert state_of(last) == expected([*whole, failed(KEYS[0], attempts=7)])
        last.close()


@settings(max_examples=30)
@given(lines=st.lists(some_lines, max_size=12))
def test_compacting_changes_no_state(lines: list[AnyLine]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "journal.jsonl"
        journal = opened(path)
        if lines:
            journal.append(lines)
        journal.close()
        patch.setattr(journal_module, "COMPACT_LINES", -100)
        again = opened(path)
        assert state_of(again) == expected(lines)
        again.close()
        num_left = sum(1 for _ in read_lines(path))
        done, lost, _ = expected(lines)
        assert num_left == 1 + len(done) + len(lost)


def test_a_journal_that_grew_long_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = opened(path)
    for number in range(30):
        journal.append([failed("k", attempts=number)] * 50, durable=False)
    journal.append([finished("other", row='{"n": 5}')])
    journal.close()
    size_bytes = path.stat().st_size
    again = opened(path)
    assert path.stat().st_size < size_bytes / 100
    line, other = again.failed("k"), again.finished("other")
    assert line is not None and line.attempts == 29
    assert other is not None and bytes(other.row) == b'{"n": 5}'
    again.close()


def test_a_journal_can_be_read_while_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = opened(path)
    journal.append([finished("1")])
    with path.open("ab") as file:
        file.write(encode_line(finished("2"))[:-5])
    assert [type(line).__name__ for _, _, line in read_lines(path)] == ["Begun", "Finished"]
    journal.close()


def test_damage_before_the_end_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = opened(path)
    journal.append([finished("1"), finished("2")])
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"state": "finis\n' + lines[2])
    with pytest.raises(UserError, match="line 2 is damaged") as caught:
        opened(path)
    assert caught.value.hint


def test_a_journal_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    opened(path).close()
    header = Header(schema="filmgate.work", schema_version=9)
    path.write_bytes(encode_line(Begun(header=header)))
    with pytest.raises(UserError, match="version 9"):
        opened(path)


def test_a_row_of_any_length_comes_back(tmp_path: Path) -> None:
    journal = opened(tmp_path / "journal.jsonl")
    rows = ['{"text":"' + "x" * length + '"}' for length in (0, 4000, 4096, 20_000)]
    journal.append([finished(str(number), row=row) for number, row in enumerate(rows)])
    for number, row in enumerate(rows):
        line = journal.finished(str(number))
        assert line is not None and bytes(line.row).decode() == row
    journal.close()


@settings(max_examples=60)
@given(lines=st.lists(some_lines, min_size=1, max_size=8), data=st.data())
def test_a_flipped_bit_is_known_and_what_stands_before_it_is_kept(
    lines: list[AnyLine], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        journal = opened(path)
        journal.append(lines)
        journal.close()
        content = bytearray(path.read_bytes())
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= 1 << data.draw(st.integers(0, 7))
        path.write_bytes(content)
        told = list(read_lines_before_damage(path))
        assert told == lines[: len(told)]
        cut_off_damage(path)
        assert list(read_lines_before_damage(path)) == told
        again = opened(path)
        assert state_of(again) == expected(told)
        again.close()


def read_lines_before_damage(path: Path) -> Iterator[AnyLine]:
    with suppress(UserError):
        for _, _, line in read_lines(path):
            if not isinstance(line, Begun):
                yield line


def test_lines_without_a_checksum_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    opened(path).close()
    path.write_bytes(path.read_bytes() + msgspec.json.encode(finished("old")) + b"\n")
    journal = opened(path)
    line = journal.finished("old")
    assert line is not None and line.name == "task of old"
    journal.close()

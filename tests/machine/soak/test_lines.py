from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.errors import UserError
from filmgate.machine.soak.lines import Sample, SoakStart, SoakWriter, read_lines
from filmgate.machine.soak.result import read_soak, summed_up
from tests.machine.soak.made import made_lines, write_lines


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    start, samples, end = made_lines(seconds=300)
    assert end is not None
    path = write_lines(tmp_path / "soak.jsonl", [start, *samples, end])
    assert read_lines(path) == (start, samples, end)
    assert read_soak(path) == summed_up(start, samples, end)


@given(cut=st.integers(min_value=0, max_value=40_000))
def test_a_file_cut_anywhere_gives_the_whole_lines_before_or_says_that_there_is_none(
    cut: int,
) -> None:
    start, samples, _ = made_lines(seconds=100)
    lines = [msgspec.json.encode(line) for line in (start, *samples)]
    content = b"\n".join(lines)[:cut]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "soak.jsonl"
        path.write_bytes(content)
        check_cut(path, content, start, samples)


def check_cut(path: Path, content: bytes, start: SoakStart, samples: list[Sample]) -> None:
    try:
        read = read_lines(path)
    except UserError as error:
        assert "no beginning of a soak" in error.message
        assert b"\n" not in content
    else:
        assert read == (start, samples[: content.count(b"\n") - 1], None)


def test_a_soak_is_never_written_over(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "soak.jsonl", [made_lines()[0]])
    with pytest.raises(UserError, match="a soak is not written over"), SoakWriter(path) as writer:
        writer.open()


def test_other_files_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        read_lines(tmp_path / "none")
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(UserError, match="is no soak"):
        read_lines(tmp_path / "x.jsonl")

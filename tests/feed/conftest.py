"""Catalogs and jobs that the feed's tests share."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from filmgate.catalog import Catalog, index_videos
from filmgate.spec import Augment, Clip, Data, Job, Limits, Train
from filmgate.spec.job import About
from tests.patience import PATIENT_SECONDS


def job_of(workers: int | None = 0, **keys: object) -> Job:
    """A small job; each key goes to the table that has it."""
    tables = {
        "clip": Clip,
        "augment": Augment,
        "data": Data,
        "train": Train,
        "limits": Limits,
        "job": About,
    }
    chosen: dict[str, dict[str, object]] = {
        "clip": {"frames": 4, "height": 48, "width": 64},
        "augment": {},
        "data": {"eval_clips_per_video": 3},
        "train": {"batch_size": 4},
        "limits": {"workers": workers, "prefetch_batches": 3},
        "job": {},
    }
    for name, value in keys.items():
        table = next(t for t, kind in tables.items() if name in kind.__struct_fields__)
        chosen[table][name] = value
    if "fps" not in keys:
        chosen["clip"].setdefault("stride", 2)
    return Job(**{table: kind(**chosen[table]) for table, kind in tables.items()})


def wait_until(is_so: Callable[[], bool], seconds: float = PATIENT_SECONDS) -> None:
    """Look until it is so; fail after ``seconds``."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"not so after {seconds} s"
        time.sleep(0.005)


def is_alive(process_id: int) -> bool:
    """Whether the process runs; one that waits to be reaped does not."""
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


@pytest.fixture(scope="session")
def catalog(footage: Path, tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """The four videos of the shared footage; no test may change them."""
    return index_videos([footage], tmp_path_factory.mktemp("catalog"), workers=0)


@pytest.fixture
def own_footage(footage: Path, tmp_path: Path) -> Path:
    """A copy of the footage that the test may damage."""
    return Path(shutil.copytree(footage, tmp_path / "videos"))


@pytest.fixture
def own_catalog(own_footage: Path, tmp_path: Path) -> Catalog:
    """The catalog of the copy."""
    return index_videos([own_footage], tmp_path / "catalog", workers=0)

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from filmgate.prepare.encoders import why_unusable
from filmgate.prepare.recipe import Recipe
from filmgate.prepare.scheduling import as_scheduled_before
from tests.footage import write_video
from tests.prepare.test_copy_files import LAYOUTS, make

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getscheduler"), reason="this system has no such policies"
)


def policies() -> set[int]:
    return {os.sched_getscheduler(int(path.name)) for path in Path("/proc/self/task").iterdir()}


def become_urgent() -> None:
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pytest.skip("only root may take a real-time policy")


def test_what_takes_a_real_time_policy_gives_it_back_and_so_do_new_threads() -> None:
    before, end = policies(), threading.Event()
    with as_scheduled_before():
        become_urgent()
        thread = threading.Thread(target=end.wait)
        thread.start()
        assert os.SCHED_FIFO in policies()
    assert policies() == before
    end.set()
    thread.join()


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.label)
def test_no_encoder_leaves_a_process_with_another_policy(layout, tmp_path: Path) -> None:
    before = policies()
    source = write_video(tmp_path / "source.mp4", num_frames=12, width=96, height=64)
    make(source, Recipe(layout=layout), tmp_path)
    assert policies() == before


def test_trying_an_encoder_leaves_the_policy() -> None:
    before = policies()
    why_unusable.cache_clear()
    why_unusable("libsvtav1")
    assert policies() == before

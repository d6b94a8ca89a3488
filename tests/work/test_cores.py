from __future__ import annotations

import os
import subprocess
import sys

from filmgate.work.cores import num_usable_cores


def test_a_process_may_use_at_most_the_cores_of_its_affinity_mask() -> None:
    assert 1 <= num_usable_cores() <= len(os.sched_getaffinity(0))


def test_a_process_bound_to_one_core_has_one() -> None:
    program = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "from filmgate.work.cores import num_usable_cores; print(num_usable_cores())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "1"

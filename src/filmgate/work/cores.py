"""How many CPU cores this process may use."""

from __future__ import annotations

import math
import os
from pathlib import Path

CGROUP_ROOT = Path("/sys/fs/cgroup")


def num_usable_cores() -> int:
    """Cores of the affinity mask, cut to the cgroup's CPU quota (rounded up); at least 1."""
    allowed = len(os.sched_getaffinity(0))
    quota = _quota_cores()
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


def _quota_cores() -> float | None:
    """The tightest quota of this process's cgroup and those above it; None without one."""
    quotas = [quota for folder in _cgroup_folders() if (quota := _read_quota(folder)) is not None]
    return min(quotas, default=None)


def _cgroup_folders() -> list[Path]:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    folders = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "cpu", "cpu,cpuacct"):
            # In a container the path is often that of the host, so the root is tried as well.
            root = CGROUP_ROOT / controllers
            inside = root / path.lstrip("/")
            folders += [inside, *[above for above in inside.parents if root in above.parents], root]
    return folders


def _read_quota(folder: Path) -> float | None:
    try:
        if (folder / "cpu.max").exists():
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota = (folder / "cpu.cfs_quota_us").read_text()
            period = (folder / "cpu.cfs_period_us").read_text()
    except OSError:
        return None
    return quota_cores(quota, period)


def quota_cores(quota: str, period: str) -> float | None:
    """CPU time per time that a cgroup allows, in cores; None: as much as there is."""
    return None if quota.strip() in ("max", "-1") else int(quota) / int(period)

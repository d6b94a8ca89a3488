"""What a process may use of the machine: affinity, cgroup, limits of its own.

Sources: cgroup-v2.rst and the cgroup-v1 pages of the kernel's administration guide.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from filmgate.machine.cpu import online_cpus
from filmgate.machine.facts import Facts, Gaps
from filmgate.machine.host import NO_LIMIT, Host
from filmgate.machine.tree import Tree
from filmgate.work.cores import quota_cores
from filmgate.work.numa import parse_cpu_list

_NO_LIMIT_BYTES = 2**60
"""cgroup v1 writes no limit as a number near 2**63."""


class Limits(Facts, frozen=True, kw_only=True):
    """What this process, or the one that was captured, may use."""

    cpus: list[int] | None
    """Hardware threads that it may run on."""
    quota_cores: float | None
    """CPU time per time that its cgroup allows; None: no limit, or unknown."""
    usable_cores: int | None
    """Hardware threads that it may keep busy: ``cpus`` cut to the quota, rounded up."""
    memory_bytes: int | None
    """Memory that its cgroup allows; None: no limit, or unknown."""
    shared_memory_bytes: int | None
    """Size of /dev/shm, through which many loaders pass batches."""
    open_files: int | None
    """Files that it may have open."""
    locked_bytes: int | None
    """Memory that it may lock; None: no limit, or unknown."""


def read_limits(tree: Tree, host: Host | None) -> Limits:
    """The limits; never raises."""
    gaps = Gaps()
    cpus = gaps.take("cpus", lambda: _cpus(tree, host))
    quota = gaps.take("quota_cores", lambda: _lowest(tree, "cpu", _quota))
    memory = gaps.take("memory_bytes", lambda: _lowest(tree, "memory", _memory))
    if cpus is None:
        gaps.note("usable_cores", gaps.reasons["cpus"])
    for field in ("shared_memory_bytes", "open_files", "locked_bytes"):
        gaps.note(field, _why(field, host))
    shared = host.space.get("/dev/shm") if host else None
    return Limits(
        cpus=sorted(cpus) if cpus is not None else None,
        quota_cores=quota,
        usable_cores=None if cpus is None else _usable(len(cpus), quota),
        memory_bytes=None if memory is None else int(memory),
        shared_memory_bytes=shared.total_bytes if shared else None,
        open_files=host.open_files if host else None,
        locked_bytes=host.locked_bytes if host else None,
        unknown=gaps.reasons,
    )


def _why(field: str, host: Host | None) -> str:
    if host is None:
        return "the capture does not tell"
    if field == "shared_memory_bytes":
        return host.space_unknown.get("/dev/shm", "/dev/shm is not mounted")
    return host.why(field)


def _usable(num_cpus: int, quota: float | None) -> int:
    return num_cpus if quota is None else max(1, min(num_cpus, math.ceil(quota)))


def _cpus(tree: Tree, host: Host | None) -> frozenset[int]:
    """Its affinity where it was asked; otherwise its cpuset; otherwise all that are online."""
    if host is not None and host.affinity is not None:
        return frozenset(host.affinity)
    for folder in cgroup_folders(tree, "cpuset"):
        for name in ("cpuset.cpus.effective", "cpuset.cpus"):
            try:
                cpus = parse_cpu_list(tree.text(f"{folder}/{name}"))
            except OSError:
                continue
            if cpus:
                return cpus & online_cpus(tree)
    return online_cpus(tree)


def cgroup_folders(tree: Tree, controller: str) -> list[str]:
    """Its cgroup of a controller and those above it, innermost first."""
    roots = _roots(tree)
    found = []
    for line in _own_cgroups(tree):
        number, controllers, path = line.split(":", 2)
        name = "" if number == "0" else controllers
        if name and controller not in name.split(","):
            continue
        root = roots.get(name) or roots.get(controller if name else "")
        if root is None:
            continue
        # In a container the path is often that of the host, so the root is tried as well.
        parts = [part for part in path.split("/") if part and part != ".."]
        found += ["/".join([root, *parts[:depth]]) for depth in range(len(parts), -1, -1)]
    return found


def _own_cgroups(tree: Tree) -> list[str]:
    """``0::/path`` and ``4:memory:/path`` of this process."""
    if tree.has("proc/self/cgroup"):
        return tree.text("proc/self/cgroup").splitlines()
    if tree.has("proc/self/cpuset"):
        path = tree.text("proc/self/cpuset")
        return [f"0::{path}", f"1:cpuset:{path}"]
    return []


def _roots(tree: Tree) -> dict[str, str]:
    """Controller -> where its tree is mounted; the empty name is cgroup v2."""
    roots: dict[str, str] = {}
    try:
        lines = tree.text("proc/self/mountinfo").splitlines()
        rows = [(line.split(" - ", 1)[1].split(" "), line.split(" ")[4]) for line in lines]
        mounts = [(after[0], point, after[-1]) for after, point in rows]
    except (OSError, IndexError):
        words = [line.split(" ") for line in _mounts_text(tree).splitlines()]
        mounts = [(word[2], word[1], word[3]) for word in words if len(word) > 3]
    for kind, point, options in mounts:
        if kind == "cgroup2":
            roots.setdefault("", point.lstrip("/"))
        elif kind == "cgroup":
            roots.update(dict.fromkeys(options.split(","), point.lstrip("/")))
    return roots


def _mounts_text(tree: Tree) -> str:
    try:
        return tree.text("proc/mounts")
    except OSError:
        return ""


def _lowest(tree: Tree, controller: str, read: Callable[[Tree, str], float]) -> float:
    """The tightest limit of its cgroups. Raises ValueError where there is none, or none is told."""
    told = []
    for folder in cgroup_folders(tree, controller):
        try:
            told.append(read(tree, folder))
        except OSError:
            continue
    if not told:
        raise ValueError(f"no cgroup that is to be seen tells a limit of its {controller}")
    if min(told) == math.inf:
        raise ValueError(NO_LIMIT)
    return min(told)


def _quota(tree: Tree, folder: str) -> float:
    if tree.has(f"{folder}/cpu.max"):
        quota, period = tree.text(f"{folder}/cpu.max").split()
    else:
        quota = tree.text(f"{folder}/cpu.cfs_quota_us")
        period = tree.text(f"{folder}/cpu.cfs_period_us")
    cores = quota_cores(quota, period)
    return math.inf if cores is None else cores


def _memory(tree: Tree, folder: str) -> float:
    name = "memory.max" if tree.has(f"{folder}/memory.max") else "memory.limit_in_bytes"
    said = tree.text(f"{folder}/{name}")
    return math.inf if said == "max" or int(said) >= _NO_LIMIT_BYTES else int(said)

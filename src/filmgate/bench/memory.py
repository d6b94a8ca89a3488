"""``filmgate bench memory``: main memory by STREAM's count, GPU memory, and between the two."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import psutil

from filmgate.bench.ask import Ask, Tell
from filmgate.bench.rounds import Figure, measure_in_turns
from filmgate.bench.stream import TIMES_CACHE, Size, Stream, choose_size, last_level_bytes
from filmgate.bench.stream_worker import KERNELS
from filmgate.machine.measured import BenchPart, Measure
from filmgate.machine.nodes import read_nodes
from filmgate.machine.tree import FolderTree
from filmgate.units import format_bytes
from filmgate.work.numa import parse_cpu_list

ROUNDS, ROUNDS_QUICK = 10, 5
WARM_UP_ROUNDS = 1
FORMULAS = {"copy": "c = a", "scale": "b = s * c", "add": "c = a + b", "triad": "a = b + s * c"}
NOTES = {
    "triad": ("numpy makes it of two operations: where few cores share the memory it stays up to "
              "a third below what compiled code gives",)
}  # fmt: skip
DEVICE = "filmgate.bench.device_memory"


def bench_memory(ask: Ask, tell: Tell) -> BenchPart:
    """Main memory over all cores and over each NUMA node's; copies on and to each GPU."""
    rounds = ROUNDS_QUICK if ask.quick else ROUNDS
    tree = FolderTree(Path("/"))
    size = choose_size(last_level_bytes(tree), psutil.virtual_memory().available)
    places = _places(tree)
    measures: list[Measure] = []
    for name, cores in places:
        measures += _host(name, cores, size, rounds, tell)
    device, unknown = _device(ask, rounds, tell)
    return BenchPart(
        name="memory",
        status="measured",
        measures=[*measures, *device],
        facts={"arrays": _size_words(size), "nodes": _node_words(places)},
        says=_says(measures, device),
        unknown=unknown,
    )


def _places(tree: FolderTree) -> list[tuple[str, list[int]]]:
    """(name, cores) of what is measured: everything, then each node where there are several."""
    allowed = os.sched_getaffinity(0)
    nodes = [
        (f"node{node.number}", sorted(parse_cpu_list(node.cpus) & allowed))
        for node in read_nodes(tree)
        if node.cpus
    ]
    with_cores = [(name, cores) for name, cores in nodes if cores]
    everything = ("host", sorted(allowed))
    return [everything, *(with_cores if len(with_cores) > 1 else [])]


def _host(
    name: str, cores: Sequence[int], size: Size, rounds: int, tell: Tell
) -> Iterator[Measure]:
    notes = () if size.follows_rule else (_small_words(size),)
    with Stream(cores, size.array_bytes) as stream:
        figures = [
            Figure(
                name=f"{name}-{kernel}", unit="bytes/s", run=_rate_of(stream, kernel),
                definition=f"{num_arrays * 8} bytes an element of {FORMULAS[kernel]}, over the time"
                " from the first process's start to the last one's end",
                anchor="STREAM", warm_up=f"{WARM_UP_ROUNDS} round",
                notes=(*notes, *NOTES.get(kernel, ())),
                conditions={"processes": str(len(cores)), "type": "64-bit floating point",
                            "array": format_bytes(size.array_bytes)},
            )
            for kernel, (_, num_arrays) in KERNELS.items()
        ]  # fmt: skip
        for _ in range(WARM_UP_ROUNDS):
            for kernel in KERNELS:
                stream.rate(kernel)
        yield from measure_in_turns(figures, rounds, tell)


def _rate_of(stream: Stream, kernel: str) -> Callable[[int], float]:
    return lambda number: stream.rate(kernel)


def _device(ask: Ask, rounds: int, tell: Tell) -> tuple[list[Measure], dict[str, str]]:
    """Figures of each GPU, or why there are none."""
    if ask.device == "cpu":
        return [], {"gpu-copy": "not present: --device cpu was told"}
    if find_spec("torch") is None:
        return [], {"gpu-copy": "torch is not installed: pip install 'filmgate[train]'"}
    # Main memory is measured without torch, and this module starts without it.
    measure = cast(
        "Callable[[str | None, int, Tell], tuple[list[Measure], dict[str, str]]]",
        import_module(DEVICE).measure_devices,
    )
    return measure(ask.device, rounds, tell)


def _size_words(size: Size) -> str:
    cache = "unknown" if size.cache_bytes is None else format_bytes(size.cache_bytes)
    return f"{format_bytes(size.array_bytes)} each; all last-level caches {cache}"


def _small_words(size: Size) -> str:
    if size.cache_bytes is None:
        return "the size of the caches is not told, and part of the arrays may lie in them"
    return f"arrays are below {TIMES_CACHE} times the caches, as memory is short: part is cache"


def _node_words(places: Sequence[tuple[str, list[int]]]) -> str:
    if len(places) == 1:
        return "one NUMA node, or only one that this process may use"
    return ", ".join(f"{name}: {len(cores)} cores" for name, cores in places[1:])


def _says(measures: Sequence[Measure], device: Sequence[Measure]) -> list[str]:
    rate = {one.name: one.median for one in measures}
    said = [
        f"main memory gives {format_bytes(rate['host-add'])}/s where two arrays are read and one "
        "is written (STREAM's add)"
    ]
    by_name = {one.name: one for one in device}
    for name, pinned in by_name.items():
        if not name.endswith("-from-host-pinned"):
            continue
        pageable = by_name.get(name.replace("pinned", "pageable"))
        if pageable is not None:
            said.append(
                f"{name.split('-')[0]}: {format_bytes(pinned.median)}/s from pinned memory, "
                f"{pinned.median / pageable.median:.2g} times what pageable memory gives"
            )
    return said

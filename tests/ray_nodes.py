"""A Ray cluster of this machine for tests: nodes that can be lost."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A head without cores of its own and a node with one; nobody without the token can join.

    One for all tests, for Ray keeps the first token of a process. It listens on the machine's own
    address also when it is told 127.0.0.1.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT / "src"), str(ROOT))))
        ray_cluster = pytest.importorskip("ray.cluster_utils")  # it reads the settings now
        head = {"num_cpus": 0, "include_dashboard": False}
        nodes = ray_cluster.Cluster(initialize_head=True, head_node_args=head)
        nodes.add_node(num_cpus=1)
        yield nodes
        nodes.shutdown()


def lose_a_node(cluster: Any) -> None:
    """Kill a node with all its processes; Ray refuses for the one this process has joined."""
    for node in list(cluster.worker_nodes):
        with suppress(ValueError):
            cluster.remove_node(node, allow_graceful=False)
            return
    raise AssertionError("no node could be removed")

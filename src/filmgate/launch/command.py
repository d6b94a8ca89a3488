"""The command of one node, as a shell takes it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from filmgate.launch.wish import NOTICE_MARGIN_SECONDS, Launch


def words(arguments: Sequence[str]) -> str:
    """Arguments, quoted for a shell."""
    return " ".join(shlex.quote(word) for word in arguments)


def node_command(launch: Launch, *, node_rank: str, address: str, attempt: str) -> str:
    """What a node executes; the last three are shell expressions, quoted as they stand.

    One rank in all needs no launcher. torchrun waits for the ranks' commit before it kills.
    """
    filmgate = ["-m", "filmgate", *launch.arguments]
    if launch.num_ranks == 1:
        return words(["python", *filmgate])
    wait_seconds = launch.notice_seconds - NOTICE_MARGIN_SECONDS
    options = [
        f"--nnodes={launch.nodes}",
        f"--nproc-per-node={launch.ranks_per_node}",
        f"--max-restarts={launch.max_restarts}",
        f"--shutdown-timeout={wait_seconds}",
    ]
    if launch.nodes == 1:
        return words(["torchrun", "--standalone", *options, *filmgate])
    meeting = (
        f"--rdzv-backend=c10d --rdzv-endpoint={address}:{launch.port} "
        f"--rdzv-id={attempt} --node-rank={node_rank}"
    )
    return f"{words(['torchrun', *options])} {meeting} {words(filmgate)}"

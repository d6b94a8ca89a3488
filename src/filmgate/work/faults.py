"""Which fault may pass by itself, which one stays, and which one stops the whole work."""

from __future__ import annotations

import errno
from typing import Literal

from filmgate.errors import BlindNode, DeadlineError, FilmgateError

FaultKind = Literal["passing", "lost", "lasting", "full", "blind", "program"]
"""Try again; try again, for it took its worker; quarantine; stop until there is space; stop, for a
node does not see the folder; stop and show the traceback."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_PASSING = frozenset(
    {
        errno.EAGAIN, errno.EBUSY, errno.EINTR, errno.EIO, errno.EMFILE, errno.ENFILE,
        errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETRESET, errno.ENETUNREACH,
        errno.ENOBUFS, errno.ENOMEM, errno.EREMOTEIO, errno.ESTALE, errno.ETIMEDOUT,
    }
)  # fmt: skip
"""Storage and networks come back; a missing file or a forbidden one does not."""


def kind_of(error: BaseException) -> FaultKind:
    """What is to be done about an exception that a task raised."""
    if any(isinstance(one, OSError) and one.errno in _FULL for one in _chain(error)):
        return "full"
    if isinstance(error, DeadlineError | ConnectionError | TimeoutError | MemoryError):
        return "passing"
    if isinstance(error, OSError):
        return "passing" if error.errno in _PASSING else "lasting"
    if isinstance(error, BlindNode):
        return "blind"
    return "lasting" if isinstance(error, FilmgateError) else "program"


def words_of(error: BaseException) -> str:
    """The exception in one clause."""
    return str(error) or type(error).__name__


def _chain(error: BaseException) -> list[BaseException]:
    """The exception and what it was raised from, without going round in circles."""
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in chain:
        chain.append(at)
        at = at.__cause__ or at.__context__
    return chain

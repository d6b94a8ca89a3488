"""Everything filmgate raises on purpose, as one tree.

::

    FilmgateError
    |-- UserError            the caller can mend it: error: and hint:, exit code 2
    |   `-- JobError         a job file says something impossible
    |-- VideoError           one video cannot give what was asked; names path and place
    |   |-- UnreadableVideo  no frame of it can be used (not a video, no index, empty)
    |   `-- UndecodableFrame it opens, but these frames do not come out
    |-- FeedError            the feed stopped: too many bad clips, or a worker kept dying
    |-- WorkError            a list of tasks stopped: too many of them failed
    |-- BlindNode            a machine of a cluster does not see what the others see
    |-- DeadlineError        a wait went past its deadline; says what was waited for
    `-- Interrupted          a signal asked to stop; what was done is kept, and exit_code says so

A fault of filmgate's own is an ``assert`` or whatever Python raises, and shows its traceback.
"""

from __future__ import annotations

from pathlib import Path


class FilmgateError(Exception):
    """The root: a message that says what, got and allowed, and a hint that says what next."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UserError(FilmgateError):
    """What was asked cannot be done as asked; the caller can mend it."""


class JobError(UserError):
    """The job file is wrong: unknown key, wrong type, value out of bounds."""


class VideoError(FilmgateError):
    """One video cannot give what was asked. ``path`` names it, ``reason`` is one short clause."""

    def __init__(self, path: Path | str, reason: str, *, hint: str = "") -> None:
        hint = hint or "is it a video, and whole? `ffprobe` on it says more"
        super().__init__(f"{path}: {reason}", hint=hint)
        self.path = Path(path)
        self.reason = reason

    def __reduce__(self) -> tuple[object, tuple[type[VideoError], Path, str, str]]:
        return _rebuild, (type(self), self.path, self.reason, self.hint)


def _rebuild(kind: type[VideoError], path: Path, reason: str, hint: str) -> VideoError:
    return kind(path, reason, hint=hint)


class UnreadableVideo(VideoError):
    """No frame of the file can be used."""


class UndecodableFrame(VideoError):
    """The file opens, but a wanted frame does not come out of the decoder."""


class FeedError(FilmgateError):
    """The feed stopped, and says which budget or limit was passed."""


class WorkError(FilmgateError):
    """A list of tasks stopped, because more of them failed than the error budget allows."""


class BlindNode(FilmgateError):
    """A machine does not see files as the one that gave it the task; stops the list of tasks."""


class DeadlineError(FilmgateError):
    """A wait went past its deadline."""


class Interrupted(FilmgateError):
    """A signal stopped the run before its end; the same command again continues it."""

    exit_code = 75
    """EX_TEMPFAIL of sysexits.h, "try again later": unlike any other way a run ends."""

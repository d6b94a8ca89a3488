from __future__ import annotations

import pickle
from pathlib import Path

from filmgate.errors import FilmgateError, UndecodableFrame, VideoError


def test_a_video_error_keeps_path_and_reason_across_processes() -> None:
    error = pickle.loads(pickle.dumps(UndecodableFrame("a/b.mp4", "frame 7 does not decode")))
    assert isinstance(error, VideoError)
    assert (error.path, error.reason) == (Path("a/b.mp4"), "frame 7 does not decode")
    assert "frame 7" in str(error)


def test_every_error_has_a_message_and_a_hint() -> None:
    error = FilmgateError("what happened", hint="what next")
    assert (str(error), error.message, error.hint) == (
        "what happened",
        "what happened",
        "what next",
    )

"""What a bar shows, whenever the terminal is drawn."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from filmgate.app.terminal import JobProgress


def test_how_a_part_ended_is_shown_however_soon_the_next_begins() -> None:
    shown = StringIO()
    console = Console(file=shown, force_terminal=True, width=120)
    with JobProgress("train", "steps", console) as progress:
        progress(2, 2, "loss 0.1")
        progress.next_part("score", "clips")
    assert "2/2" in shown.getvalue()
    assert "score" in shown.getvalue()

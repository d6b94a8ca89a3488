"""The rows of a work that is done, one after another, however many there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from filmgate.work.journal import Journal
from filmgate.work.task import JOURNAL_FILE, ROOM, Row


def finished_rows(folder: Path, keys: Iterable[str], row: type[Row]) -> Iterator[Row]:
    """What finished tasks returned, in the order of their ``keys``, read from the journal.

    Nobody may work on the folder meanwhile. Raises KeyError for a task that is not finished, and
    UserError when the journal is damaged.
    """
    decoder = msgspec.json.Decoder(row)
    journal = Journal(folder / ROOM / JOURNAL_FILE)
    journal.open_to_read()
    try:
        for key in keys:
            line = journal.finished(key)
            if line is None:
                raise KeyError(key)
            yield decoder.decode(line.row)
    finally:
        journal.close()

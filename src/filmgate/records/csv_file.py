"""Rows of a CSV file that the user wrote."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from filmgate.errors import UserError

_EXTRA = "columns without a name"


def csv_rows(
    file: Path, columns: Sequence[str], *, hint: str
) -> list[tuple[int, dict[str, str | None]]]:
    """(line, column -> text) of each row below the first line, which names the columns.

    Raises UserError for a file that cannot be read, with ``hint``, and for one that is no such
    CSV, with its line.
    """
    try:
        with file.open(newline="", encoding="utf-8-sig") as text:
            reader = csv.DictReader(text, restkey=_EXTRA)
            if not set(columns) <= set(reader.fieldnames or ()):
                found = f"columns are {', '.join(reader.fieldnames or ['missing'])}"
                raise fault(file, 1, found, f"the first line names the columns {','.join(columns)}")
            rows = [(reader.line_num, row) for row in reader]
    except OSError as error:
        raise UserError(
            f"{file}: {error.strerror}",
            hint=hint,
        ) from None
    except UnicodeDecodeError:
        raise UserError(f"{file} is not UTF-8 text", hint="save it as UTF-8 CSV") from None
    except csv.Error as error:
        mend = "is a closing quotation mark missing? save it as CSV again"
        raise UserError(f"{file} is no CSV: {error}", hint=mend) from None
    for line, row in rows:
        if _EXTRA in row:
            found = "more columns than the first line names"
            raise fault(file, line, found, 'write a text with a comma as "one, two"')
    return rows


def fault(file: Path, line: int, found: str, hint: str) -> UserError:
    """The error of one line."""
    return UserError(f"{file} line {line}: {found}", hint=hint)

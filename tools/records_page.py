"""docs/records.md: every field of every record, from the sources."""

from __future__ import annotations

import ast
from pathlib import Path

from tools.markdown import code, page, prose, table
from tools.record_source import FieldSource, RecordSource, read_records

_UNITS = {
    "unix_seconds": "s since 1970",
    "_seconds": "s",
    "_bytes": "bytes",
    "_per_second": "1/s",
    "_degrees": "degrees",
    "_ticks": "ticks",
    "_share": "0..1",
    "bytes": "bytes",
    "seconds": "s",
}
"""End of a field's name -> its unit; the longest that fits counts."""


_OFTEN = {"header": "Who made it, from what, and when."}
"""Fields that mean the same in every record that has them."""


def records_page(package: Path) -> str:
    """The page as text; the job's own records have a page of theirs."""
    records = [r for r in read_records(package) if r.module != f"{package.name}.spec.job"]
    inside = {record.name for record in records}
    lines = [
        "# Records",
        "",
        "What commands print with `--json` and what artifacts hold. Records are frozen; what is",
        "unknown is `null`, never a number that looks real. The job file's keys are in",
        "[job.md](job.md).",
    ]
    module = ""
    for record in records:
        if record.module != module:
            module = record.module
            lines += ["", f"## {module}"]
        lines += ["", f"### {record.name}", "", *_record(record, inside)]
    return page(lines)


def _record(record: RecordSource, inside: set[str]) -> list[str]:
    lines = [prose(record.meaning)]
    if record.tag:
        lines += ["", f"In a file of mixed records: `kind` is `{record.tag}`."]
    bases = [base for base in record.bases if base in inside and base != "Record"]
    if bases:
        lines += ["", f"Has the fields of {', '.join(bases)} too."]
    if record.fields:
        lines += ["", *table(["field", "type", "unit", "meaning"], map(_row, record.fields))]
    return lines


def _row(field: FieldSource) -> list[str]:
    return [
        code(field.name),
        code(ast.unparse(field.annotation).replace("'", '"')),
        unit(field.name),
        prose(field.meaning or _OFTEN.get(field.name, "")),
    ]


def unit(name: str) -> str:
    """The unit that a field's name carries; empty where it carries none."""
    endings = [ending for ending in _UNITS if name.endswith(ending)]
    return _UNITS[max(endings, key=len)] if endings else ""

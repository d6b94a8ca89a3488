"""docs/job.md: every table and key of ``job.toml``, from the source of spec/job.py."""

from __future__ import annotations

import ast
import json
from pathlib import Path

from tools.markdown import code, page, prose, table
from tools.record_source import FieldSource, RecordSource, read_aliases, read_records

_BOUNDS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
_KINDS = {"int": "whole number", "float": "number", "str": "text", "bool": "true or false"}


def job_page(package: Path) -> str:
    """The page as text."""
    source = package / "spec" / "job.py"
    aliases = read_aliases(source)
    records = {r.name: r for r in read_records(package) if r.module == f"{package.name}.spec.job"}
    lines = [
        "# The job file",
        "",
        "`filmgate run --job job.toml` reads what to train and how from a TOML file. Every table",
        "and key may be left out. An unknown key, a wrong type or a value out of bounds stops the",
        "run before it starts. Each run folder keeps its effective job as `job.toml`, all keys",
        "written out.",
    ]
    for field in records["Job"].fields:
        kind = records[ast.unparse(field.annotation)]
        lines += ["", f"## [{field.name}]", "", _introduction(kind), ""]
        lines += table(
            ["key", "type and bounds", "default", "meaning"],
            [_row(key, aliases) for key in kind.fields],
        )
        lines += _without_table(field)
    return page(lines)


def _introduction(kind: RecordSource) -> str:
    text = prose(kind.meaning).partition(": ")[2] or prose(kind.meaning)
    return text[0].upper() + text[1:]


def _row(key: FieldSource, aliases: dict[str, ast.expr]) -> list[str]:
    return [
        code(key.name),
        describe_type(key.annotation, aliases),
        _default(key.default),
        prose(key.meaning or ""),
    ]


def _default(default: ast.expr | None) -> str:
    if default is None:
        return "must be given"
    value = ast.literal_eval(default)
    return "unset" if value is None else code(json.dumps(value))


def _without_table(field: FieldSource) -> list[str]:
    """What holds where the table is left out, if that differs from the keys' defaults."""
    if not isinstance(field.default, ast.Call) or not field.default.keywords:
        return []
    given = ", ".join(
        code(f"{keyword.arg} = {json.dumps(ast.literal_eval(keyword.value))}")
        for keyword in field.default.keywords
    )
    return ["", f"Without this table: {given}."]


def describe_type(annotation: ast.expr, aliases: dict[str, ast.expr]) -> str:
    """A type as a person reads it: ``whole number >= 1, or unset``."""
    if isinstance(annotation, ast.Name):
        if annotation.id in aliases:
            return describe_type(aliases[annotation.id], aliases)
        return _KINDS[annotation.id]
    if isinstance(annotation, ast.Constant) and annotation.value is None:
        return "unset"
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        left, right = (describe_type(side, aliases) for side in (annotation.left, annotation.right))
        return f"{left}, or {right}"
    if isinstance(annotation, ast.Subscript):
        return _describe_subscript(annotation, aliases)
    raise ValueError(f"{ast.unparse(annotation)} is no type that the job page can describe")


def _describe_subscript(annotation: ast.Subscript, aliases: dict[str, ast.expr]) -> str:
    name = ast.unparse(annotation.value)
    parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    if name == "Literal":
        return " or ".join(code(json.dumps(ast.literal_eval(part))) for part in parts)
    if name == "Annotated":
        return describe_type(parts[0], aliases) + _describe_bounds(parts[1:])
    if name == "tuple":
        return f"list of {len(parts)}, each a {describe_type(parts[0], aliases)}"
    if name == "dict":
        return "table"
    if name == "list":
        return f"list of {describe_type(parts[0], aliases)}"
    raise ValueError(f"{ast.unparse(annotation)} is no type that the job page can describe")


def _describe_bounds(calls: list[ast.expr]) -> str:
    bounds = []
    for call in calls:
        for keyword in call.keywords if isinstance(call, ast.Call) else []:
            value = ast.literal_eval(keyword.value)
            if keyword.arg in _BOUNDS:
                bounds.append(f" {_BOUNDS[keyword.arg]} {value}")
            elif keyword.arg == "pattern":
                bounds.append(f" like {code(value)}")
            else:
                raise ValueError(f"the job page has no words for the bound {keyword.arg}")
    return " and".join(bounds)

"""Records read from their source text, so that pages need no import and say what the code says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ROOT_BASES = {"Record", "Struct"}


@dataclass(frozen=True, kw_only=True)
class FieldSource:
    """One field as it is written."""

    name: str
    annotation: ast.expr
    default: ast.expr | None
    meaning: str | None
    """The docstring below the field, on one line."""


@dataclass(frozen=True, kw_only=True)
class RecordSource:
    """One record class as it is written."""

    module: str
    name: str
    bases: tuple[str, ...]
    tag: str | None
    """What its ``kind`` field says in a file of mixed records."""
    meaning: str
    """The class's docstring."""
    fields: tuple[FieldSource, ...]
    """Its own; those of its bases stand with the bases."""


def read_records(package: Path) -> list[RecordSource]:
    """Every record of the package, private ones apart, by module and place in the file.

    A record is a class with ``Record`` or ``msgspec.Struct`` among its bases, or another record.
    """
    classes = list(_all_classes(package))
    known = set(_ROOT_BASES)
    while True:
        found = {record.name for record in classes if known.intersection(record.bases)} - known
        if not found:
            break
        known |= found
    return [
        record
        for record in classes
        if known.intersection(record.bases) and not record.name.startswith("_")
    ]


def read_aliases(path: Path) -> dict[str, ast.expr]:
    """The module's own names for types: ``Positive = Annotated[int, Meta(ge=1)]``."""
    return {
        statement.targets[0].id: statement.value
        for statement in ast.parse(path.read_text()).body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }


def _all_classes(package: Path) -> Iterator[RecordSource]:
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__")
        for statement in ast.parse(path.read_text()).body:
            if isinstance(statement, ast.ClassDef):
                yield _read_class(statement, module)


def _read_class(node: ast.ClassDef, module: str) -> RecordSource:
    tags = [keyword.value for keyword in node.keywords if keyword.arg == "tag"]
    return RecordSource(
        module=module,
        name=node.name,
        bases=tuple(ast.unparse(base).split(".")[-1] for base in node.bases),
        tag=str(ast.literal_eval(tags[0])) if tags else None,
        meaning=ast.get_docstring(node) or "",
        fields=tuple(_read_fields(node.body)),
    )


def _read_fields(body: list[ast.stmt]) -> Iterator[FieldSource]:
    for statement, following in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield FieldSource(
                name=statement.target.id,
                annotation=statement.annotation,
                default=statement.value,
                meaning=_text(following),
            )


def _text(statement: ast.stmt) -> str | None:
    if (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    ):
        return " ".join(statement.value.value.split())
    return None

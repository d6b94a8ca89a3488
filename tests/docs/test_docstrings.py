from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"


def public_without_docstring(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if (
            isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and not child.name.startswith("_")
            and ast.get_docstring(child) is None
        ):
            yield f"line {child.lineno}: {child.name}"
        yield from public_without_docstring(child)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.stem)
def test_public_names_have_a_docstring_inside_functions_and_private_classes_too(
    path: Path,
) -> None:
    assert list(public_without_docstring(ast.parse(path.read_text()))) == []

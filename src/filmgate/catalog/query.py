"""Rows of a catalog by a condition, written as in ``pandas.DataFrame.query``.

``label == "warm" and duration_seconds < 30 and glob(video_id, "camera-1/*")``: names are columns of
``videos.parquet`` and ``size_bytes``; values are texts, numbers, True, False, None and lists;
operators are ``== != < <= > >= in not in and or not``. Nothing of it is executed as Python.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from filmgate.catalog.catalog import Catalog
from filmgate.catalog.store import VIDEOS_SCHEMA
from filmgate.errors import UserError

_EXAMPLE = 'for example: label == "warm" and duration_seconds < 30 and glob(video_id, "cam-1/*")'
_NAMES = sorted({*VIDEOS_SCHEMA.names, "size_bytes"} - {"stamp"})
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: pc.equal,
    ast.NotEq: pc.not_equal,
    ast.Lt: pc.less,
    ast.LtE: pc.less_equal,
    ast.Gt: pc.greater,
    ast.GtE: pc.greater_equal,
}


def rows_where(catalog: Catalog, condition: str) -> NDArray[np.int64]:
    """Ascending numbers of the rows for which it holds; an unknown value makes it not hold.

    Raises UserError when the condition cannot be read, or compares what cannot be compared.
    """
    try:
        tree = ast.parse(condition.strip(), mode="eval").body
    except SyntaxError as error:
        raise UserError(f"{condition!r} is no condition: {error.msg}", hint=_EXAMPLE) from None
    try:
        mask = _Condition(catalog, condition).value(tree)
        if not isinstance(mask, pa.Array | pa.ChunkedArray) or mask.type != pa.bool_():
            raise _fault(condition, "it gives no yes or no for each video")
    except pa.ArrowException as error:
        raise _fault(condition, " ".join(str(error).split())) from None
    is_in: NDArray[np.bool_] = pc.fill_null(mask, False).to_numpy(zero_copy_only=False)
    return np.flatnonzero(is_in)


class _Condition:
    """Evaluates a condition over the columns that it names."""

    def __init__(self, catalog: Catalog, text: str) -> None:
        self._catalog = catalog
        self._text = text

    def value(self, node: ast.expr) -> Any:
        """A column, a constant, or a yes or no for each row."""
        match node:
            case ast.BoolOp(op=op, values=values):
                join = pc.and_kleene if isinstance(op, ast.And) else pc.or_kleene
                first, *others = [self._yes_or_no(one) for one in values]
                for other in others:
                    first = join(first, other)
                return first
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return pc.invert(self._yes_or_no(operand))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return -number
            case ast.Compare():
                return self._compared(node)
            case ast.Call(func=ast.Name(id="glob"), args=[ast.Name() as name, pattern]):
                return self._glob(self.value(name), pattern)
            case ast.Name(id=name):
                return self._column(name)
            case ast.Constant(value=str() | int() | float() | None as value):
                return value
            case ast.List(elts=values) | ast.Tuple(elts=values):
                return [self.value(one) for one in values]
            case _:
                raise _fault(self._text, f"{ast.unparse(node)!r} cannot stand in a condition")

    def _yes_or_no(self, node: ast.expr) -> Any:
        value = self.value(node)
        if not isinstance(value, pa.Array | pa.ChunkedArray) or value.type != pa.bool_():
            raise _fault(self._text, f"{ast.unparse(node)!r} gives no yes or no")
        return value

    def _compared(self, node: ast.Compare) -> Any:
        """``a < b < c`` as Python reads it."""
        result: Any = None
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            one = self._pair(operator, self.value(left), self.value(right))
            result = one if result is None else pc.and_kleene(result, one)
            left = right
        return result

    def _pair(self, operator: ast.cmpop, left: Any, right: Any) -> Any:
        if not any(isinstance(one, pa.Array | pa.ChunkedArray) for one in (left, right)):
            raise _fault(self._text, "a comparison needs the name of a column")
        if isinstance(operator, ast.In | ast.NotIn):
            if not isinstance(right, list):
                raise _fault(self._text, "what follows `in` is no list")
            is_in = pc.is_in(left, value_set=pa.array(right, type=left.type))
            return is_in if isinstance(operator, ast.In) else pc.invert(is_in)
        if left is None or right is None:
            column = right if left is None else left
            if isinstance(operator, ast.Eq | ast.Is):
                return pc.is_null(column)
            if isinstance(operator, ast.NotEq | ast.IsNot):
                return pc.is_valid(column)
        if type(operator) not in _COMPARE:
            raise _fault(self._text, "of operators there are == != < <= > >= in, not in")
        return _COMPARE[type(operator)](left, right)

    def _glob(self, column: Any, pattern: ast.expr) -> Any:
        text = self.value(pattern)
        if not isinstance(text, str):
            raise _fault(self._text, "glob takes a column and a pattern in quotes")
        return pc.match_substring_regex(column, _regex_of(text))

    def _column(self, name: str) -> Any:
        if name not in _NAMES:
            near = difflib.get_close_matches(name, _NAMES, n=1)
            said = f"did you mean {near[0]}?" if near else f"one of {', '.join(_NAMES)}"
            raise UserError(f"{self._text!r}: no column {name!r}", hint=said)
        if name == "size_bytes":
            return pc.struct_field(self._catalog.column("stamp"), "size_bytes")
        return self._catalog.column(name)


def _regex_of(pattern: str) -> str:
    """A shell pattern as RE2 has it: ``*`` and ``?`` also take slashes."""
    special = {"*": ".*", "?": "."}
    body = "".join(special.get(one) or re.escape(one) for one in pattern)
    return f"(?s)^{body}$"


def _fault(condition: str, reason: str) -> UserError:
    return UserError(f"{condition!r} cannot be used: {reason}", hint=_EXAMPLE)

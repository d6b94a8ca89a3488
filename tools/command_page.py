"""docs/cli.md: every command, argument and option of a typer app."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer

from tools.markdown import code, page, table

_KINDS = {int: "whole number", float: "number", str: "text", Path: "path"}


def command_page(app: typer.Typer, name: str) -> str:
    """The page as text."""
    lines = [
        "# Commands",
        "",
        "The record goes to stdout, talk goes to stderr. Exit code 0: done; 2: the input is to be",
        "mended, and a `hint:` line says how; 75: a signal stopped a run, and the same command",
        "continues it; 129, 130, 143: SIGHUP, Ctrl-C, SIGTERM ended another command; 1: it failed",
        "otherwise.",
    ]
    for path, command in walk(typer.main.get_command(app), name):
        lines += ["", f"## {path}", "", inspect.cleandoc(command.help or "")]
        rows = [_row(parameter, command) for parameter in command.params if not _hidden(parameter)]
        if rows:
            lines += ["", *table(["argument or option", "type", "default", "meaning"], rows)]
    return page(lines)


def walk(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command with its full name, groups before their commands."""
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        if not child.hidden:
            yield from walk(child, f"{path} {name}")


def _hidden(parameter: Any) -> bool:
    return bool(getattr(parameter, "hidden", False)) or parameter.name == "help"


def _row(parameter: Any, command: Any) -> list[str]:
    is_argument = parameter.param_type_name == "argument"
    names = (
        [parameter.name.upper()] if is_argument else [*parameter.opts, *parameter.secondary_opts]
    )
    return [
        ", ".join(code(name) for name in names),
        _type(parameter, command),
        _default(parameter),
        parameter.help or "",
    ]


def _type(parameter: Any, command: Any) -> str:
    """From the signature of the function behind the command, not from typer's insides."""
    function = command.callback
    parameters = inspect.signature(function, eval_str=True).parameters if function else {}
    if parameter.name not in parameters:
        return "switch"  # typer's own: --install-completion, --show-completion
    annotation = parameters[parameter.name].annotation
    return describe(annotation) + "".join(_bounds(annotation))


def _bounds(annotation: Any) -> Iterator[str]:
    for information in getattr(annotation, "__metadata__", ()):
        if getattr(information, "min", None) is not None:
            yield f" >= {information.min}"
        if getattr(information, "max", None) is not None:
            yield f" <= {information.max}"


def describe(annotation: Any) -> str:
    """A Python type as a person reads it."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if annotation is bool:
        return "switch"
    if annotation in _KINDS:
        return _KINDS[annotation]
    if origin is Annotated:
        return describe(parts[0])
    if origin is Literal:
        return " or ".join(code(str(part)) for part in parts)
    if origin in (Union, types.UnionType):
        return " or ".join(describe(part) for part in parts if part is not type(None))
    if origin is list:
        return f"{describe(parts[0])}, any number"
    raise ValueError(f"{annotation} is no type that the command page can describe")


def _default(parameter: Any) -> str:
    if parameter.required:
        return "must be given"
    if parameter.default is None or parameter.default is False:
        return ""
    return code(str(parameter.default))

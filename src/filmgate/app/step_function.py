"""A user's own training step, found by name."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from filmgate.errors import FilmgateError, UserError

if TYPE_CHECKING:
    from filmgate.feed.batch import Batch

HINT = "name it as package.module:function; it is called with each filmgate.feed.batch.Batch"


def load_step(name: str) -> Callable[[Batch], object]:
    """The function that ``module:function`` names; the current directory is importable.

    It is called with a batch and returns when its computing is done (on a GPU: synchronise).
    Raises UserError when there is no such function or its module cannot be imported; the function
    returned raises UserError for whatever the user's raises.
    """
    module_name, _, function_name = name.partition(":")
    if not module_name or not function_name:
        raise UserError(f"{name!r} is no step function", hint=HINT)
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise UserError(
            f"step function {name}: importing {module_name} raised {type(error).__name__}: {error}",
            hint="the module has to lie in the current directory or be installed",
        ) from error
    function = getattr(module, function_name, None)
    if not callable(function):
        raise UserError(
            f"step function {name}: {module_name} has no function {function_name}", hint=HINT
        )
    return partial(_step, name, function)


def _step(name: str, function: Callable[[Batch], object], batch: Batch) -> None:
    """One call of the user's function. Raises UserError for whatever it raises."""
    try:
        function(batch)
    except FilmgateError:
        raise
    except Exception as error:
        raise UserError(
            f"step function {name} raised {type(error).__name__}: {error}",
            hint="mend it; it is called with one filmgate.feed.batch.Batch",
        ) from error

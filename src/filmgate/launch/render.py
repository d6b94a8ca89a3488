"""The templates beside this file, filled in."""

from __future__ import annotations

import json

from jinja2 import Environment, PackageLoader, StrictUndefined

from filmgate import __version__

_TEMPLATES = Environment(
    loader=PackageLoader("filmgate.launch"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,
)


def _quoted(text: str) -> str:
    """A YAML string; as in JSON, but that YAML joins no surrogates and shows what is printable."""
    return "".join(
        one if one.isprintable() else f"\\U{ord(one):08x}"
        for one in json.dumps(text, ensure_ascii=False)
    )


_TEMPLATES.filters["quoted"] = _quoted


def render(template: str, **values: object) -> str:
    """The text of a template; a name that it lacks is an error."""
    return _TEMPLATES.get_template(template).render(version=__version__, **values)

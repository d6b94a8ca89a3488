"""The little Markdown that generated pages are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

NOTICE = "<!-- Written by `make docs`; a change made here is lost. -->"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; a bar inside a cell is escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def code(text: str) -> str:
    """Inline code."""
    return f"`{text}`"


def prose(docstring: str) -> str:
    """A docstring's text as Markdown: backquotes single, each paragraph on one line."""
    paragraphs = re.split(r"\n\s*\n", docstring.strip())
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs).replace("``", "`")


def page(lines: Iterable[str]) -> str:
    """The whole page, with the notice that it is generated."""
    return "\n".join([NOTICE, *lines]).rstrip("\n") + "\n"

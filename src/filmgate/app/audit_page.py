"""The audit on one HTML page: what fails first, then every line."""

from __future__ import annotations

from pathlib import Path

from filmgate import __version__
from filmgate.app.page import page_environment
from filmgate.machine import Audit
from filmgate.machine.item import WORST_FIRST
from filmgate.records import write_file

TOPICS = ("data", "compute", "memory", "network", "operations")


def write_audit_page(path: Path, audit: Audit) -> None:
    """Write the page, in one step."""
    page = (
        page_environment()
        .get_template("audit.html.jinja")
        .render(
            audit=audit,
            headline=headline(audit),
            counts=[(status, audit.count(status)) for status in WORST_FIRST],
            topics=[
                (topic, [item for item in audit.items if item.topic == topic]) for topic in TOPICS
            ],
            needs=needs_rows(audit),
            version=__version__,
        )
    )
    write_file(path, page.encode(errors="backslashreplace"))


def headline(audit: Audit) -> str:
    """The audit in a few words."""
    for status, words in (("fail", "fail"), ("warn", "with a warning"), ("unknown", "unknown")):
        count = sum(item.status == status for item in audit.items)
        if count:
            return f"{count} of {len(audit.items)} lines {words}"
    return "Every line holds or is not present"


def needs_rows(audit: Audit) -> list[tuple[str, str]]:
    """What the machine was held against."""
    needs = audit.needs
    told = {
        "job": needs.job or "none; the rules of the field",
        "dataset": needs.dataset or "not told",
        "checkpoints": needs.checkpoints or "not told",
        "second copy": needs.second_copy or "not told",
        "nodes": str(needs.num_nodes),
    }
    return list(told.items())

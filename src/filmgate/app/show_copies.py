"""What `filmgate prepare` prints for a person: the table of layouts, and the copy that was made."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table
from rich.text import Text

from filmgate.app.layouts_page import COLUMNS, LAYOUTS_PAGE, headline, row_of
from filmgate.app.output import path_from_here
from filmgate.app.prepare import copies_words
from filmgate.app.show import print_rows, print_table
from filmgate.prepare.copies import Prepared
from filmgate.prepare.layouts import Layouts
from filmgate.units import counted, format_bytes

SHOWN = ("layout", "of the bytes", "clips per CPU-s", "as YUV", "PSNR, dB", "whole set",
         "CPU to make it all", "pays from", "verdict")  # fmt: skip
"""Columns that fit a terminal; the page has all."""


def show_layouts(layouts: Layouts, folder: Path) -> None:
    """The table, the choice and its reason, and where the page is."""
    places = [COLUMNS.index(name) for name in SHOWN]
    if layouts.needs.clips_per_second is not None:
        places.insert(-1, COLUMNS.index("cores"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for place in places:
        is_words = COLUMNS[place] in ("layout", "verdict")
        table.add_column(
            COLUMNS[place], justify="left" if is_words else "right",
            overflow="fold", no_wrap=COLUMNS[place] == "layout",
        )  # fmt: skip
    for outlook in layouts.choice.outlooks:
        cells = row_of(outlook, layouts)
        style = "bold" if outlook.trial.label == layouts.choice.label else ""
        table.add_row(*[Text(cells[place], style=style) for place in places])
    print_table(table)
    print_rows(
        [
            ("choice", headline(layouts)),
            ("why", layouts.choice.why),
            *(("mind", remark) for remark in layouts.remarks),
            ("page", path_from_here(folder / LAYOUTS_PAGE)),
        ]
    )


def show_prepared(prepared: Prepared, layouts: Layouts | None) -> None:
    """The copy in a few lines."""
    likeness, share = prepared.likeness, prepared.bytes / max(1, prepared.source_bytes)
    closeness = (
        "identical to the scaled source"
        if likeness.psnr_db is None
        else f"{likeness.psnr_db:.1f} dB to the scaled source, SSIM {likeness.ssim:.4f}"
    )
    rows = [
        ("copies", copies_words(prepared)),
        ("layout", f"{prepared.recipe.layout.label}, by {prepared.encoder}"),
        ("size", f"{format_bytes(prepared.bytes)}, {share:.2f} times the source's"),
        ("closeness", closeness),
        ("without a copy", counted(len(prepared.left_out), "video")),
        *((f"  {one.video_id}", one.reason) for one in prepared.left_out[:12]),
    ]
    if layouts is not None:
        rows.append(("why this layout", layouts.choice.why))
    print_rows([*rows, ("catalog", path_from_here(prepared.folder))])

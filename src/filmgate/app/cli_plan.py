"""``filmgate plan`` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from filmgate.app.cli_options import Json, Quiet
from filmgate.app.output import print_record
from filmgate.errors import UserError

DEFAULT_PORT = 8765


def plan(
    job: Annotated[
        Path | None,
        typer.Argument(help="Job file (TOML), five lines are enough; or the word validate."),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Argument(help="With validate: published measurements (CSV) to be predicted."),
    ] = None,
    catalog: Annotated[
        Path | None, typer.Option(help="The videos' catalog: their size, rate and number.")
    ] = None,
    machine: Annotated[
        Path | None,
        typer.Option(help="A machine that there is: what `machine show --json` or capture wrote."),
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option(help="A part for that machine: a card's name, ram=256GB or nvme=4; again."),
    ] = None,
    card: Annotated[
        str | None, typer.Option(help="Card to plan with; none: the best of the ranking.")
    ] = None,
    cards: Annotated[
        Path | None, typer.Option(help="CSV of figures that stand above the table of cards.")
    ] = None,
    prices: Annotated[
        Path | None, typer.Option(help="CSV of figures that stand above the table of prices.")
    ] = None,
    measured: Annotated[
        list[Path] | None,
        typer.Option(help="What was measured: bench.json, layouts.json, feed bench; again."),
    ] = None,
    hours_per_month: Annotated[float, typer.Option(help="Hours of work in a month.")] = 200.0,
    life_months: Annotated[float, typer.Option(help="Months until it is sold.")] = 36.0,
    residual_share: Annotated[float, typer.Option(help="Of the price, what it then brings.")] = 0.2,
    pue: Annotated[float, typer.Option(help="Power of the room over that of the machine.")] = 1.4,
    idle_share: Annotated[float, typer.Option(help="Power at rest over that at work.")] = 0.15,
    stored_gb: Annotated[
        float | None, typer.Option(help="GB kept in a cloud; none: the catalog's size.")
    ] = None,
    egress_gb_per_month: Annotated[float, typer.Option(help="GB that leave the cloud.")] = 50.0,
    private: Annotated[
        bool, typer.Option("--private", help="The videos may not leave the building.")
    ] = False,
    deadline_hours: Annotated[
        float | None, typer.Option(help="Hours after which the run has to be done.")
    ] = None,
    burst_share: Annotated[
        float, typer.Option(help="Part of the hours that comes in bursts, 0 to 1.")
    ] = 0.0,
    page: Annotated[Path | None, typer.Option(help="Write the plan as an HTML page.")] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the page with sliders until Ctrl-C.")
    ] = False,
    host: Annotated[
        str, typer.Option(help="Address to listen on; off loopback a token is made and asked for.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = DEFAULT_PORT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Plan a job: memory, cards, time, server and cost, and what each rule of thumb comes to.

    Nothing is measured and no GPU is needed. Figures carry where they come from.
    """
    from filmgate.app.plan_ask import PlanWish, ask_job
    from filmgate.app.plan_whole import whole_plan
    from filmgate.plan.money import CostWish

    if rows is not None or (job is not None and job.name == "validate" and not job.exists()):
        _validate(job, rows, json=json)
        return
    if serve and json:
        raise UserError("--serve and --json do not go together", hint="leave one out")
    if add and machine is None:
        raise UserError("--add needs --machine", hint="`filmgate machine show --json > it.json`")
    money = CostWish(
        hours_per_month=hours_per_month, life_months=life_months, residual_share=residual_share,
        pue=pue, idle_share=idle_share, stored_gb=stored_gb, private=private,
        egress_gb_per_month=egress_gb_per_month, deadline_hours=deadline_hours,
        burst_share=burst_share,
    )  # fmt: skip
    wish = PlanWish(
        catalog=catalog, machine=machine, add=tuple(add or ()), card=card, cards=cards,
        prices=prices, measured=tuple(measured or ()), money=money,
    )  # fmt: skip
    asked, estimate_of = ask_job(job, wish)
    if serve:
        from filmgate.app.plan_serving import serve_plan

        serve_plan(asked, estimate_of, host, port)
        return
    told = whole_plan(asked)
    if page is not None:
        from filmgate.app.plan_page import write_plan_page

        write_plan_page(page, told)
    if json:
        print_record(told)
        return
    from filmgate.app.show_plan import show_plan

    show_plan(told, page, quiet=quiet)


def _validate(word: Path | None, rows: Path | None, *, json: bool) -> None:
    if word is None or word.name != "validate":
        raise UserError(
            f"one job file is planned at a time, got also {rows}",
            hint="filmgate plan job.toml, or filmgate plan validate ROWS.csv",
        )
    if rows is None:
        raise UserError("validate needs a file of rows", hint="filmgate plan validate ROWS.csv")
    from filmgate.app.plan_validate import validate
    from filmgate.app.show_validation import show_validation

    found = validate(rows)
    print_record(found) if json else show_validation(found)

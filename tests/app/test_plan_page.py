from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json
from msgspec.structs import replace

from filmgate.app.plan_ask import ask_again
from filmgate.app.plan_form import form_of, request_of
from filmgate.app.plan_page import plan_answer, plan_page, write_plan_page
from filmgate.app.plan_plots import cards_to_draw, memory_bars, step_bars
from filmgate.app.plan_whole import Asked, WholePlan, whole_plan
from filmgate.app.plan_words import headline, seconds_span
from filmgate.app.show_plan import show_plan
from filmgate.errors import UserError
from filmgate.plan.interval import Interval
from filmgate.plan.memory import MemoryEstimate
from filmgate.plan.request import PlanRequest
from filmgate.plan.rules import RuleLine
from tests.plan.jobs import FACTS, FOOTAGE, estimate, question, request


def estimate_of(asked: PlanRequest) -> MemoryEstimate:
    return estimate(20.0 * asked.frames / 49 * asked.batch)


def asked(**said: object) -> Asked:
    return Asked(job="demo", question=question(footage=FOOTAGE, steps=1000, **said))


PLAN = whole_plan(asked(asked={"gpus": 8, "mode": "full", "sharding": "ddp"}))
PAGE = plan_page(PLAN)


class Tags(HTMLParser):
    """Fails on a tag that is closed out of order."""

    VOID = ("meta", "input", "br", "link", "rect", "line", "path", "use", "circle")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.links += [value for name in ("src", "href") if (value := told.get(name))]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass


def test_the_page_is_well_formed_and_needs_nothing_from_outside() -> None:
    tags = Tags()
    tags.feed(PAGE)
    assert tags.open == []
    assert all(link.startswith("#") for link in tags.links)
    assert not re.search(r"url\((?!#)", PAGE)
    assert "@import" not in PAGE


def test_the_page_has_every_part_of_the_plan() -> None:
    for title in (
        "Memory on each GPU", "Frames against memory", "Time of a step", "Cards, the best",
        "What feeds it", "A server in balance", "What it costs", "Rules of thumb",
        "What was assumed",
    ):  # fmt: skip
        assert title in PAGE


def test_every_rule_and_every_card_is_on_the_page() -> None:
    plain = html.unescape(PAGE).replace("\u00a0", " ")
    for card in PLAN.cards:
        assert card.card in plain
    for rule in PLAN.rules:
        assert rule.rule in plain


def test_names_of_a_job_are_text_on_the_page() -> None:
    evil = replace(PLAN, job="<script>alert(1)</script>", title="<b>")
    page = plan_answer(evil)
    assert "<script>alert" not in page
    assert "&lt;b&gt;" in page


def test_a_written_page_has_no_form_and_no_script(tmp_path: Path) -> None:
    path = tmp_path / "plan.html"
    write_plan_page(path, PLAN)
    text = path.read_text()
    assert "<form" not in text
    assert "<script" not in text


def test_json_has_the_four_figures_of_each_card() -> None:
    told = json.decode(json.encode(PLAN))
    assert len(told["cards"]) == len(PLAN.cards)
    for card in told["cards"]:
        assert {"allocated_bytes", "reserved_low_bytes", "reserved_high_bytes", "verdict"} <= set(
            card
        )
    assert json.decode(json.encode(PLAN), type=WholePlan).cards == PLAN.cards


def test_the_terminal_tells_the_same_as_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    show_plan(PLAN, None)
    said = capsys.readouterr().out
    assert headline(PLAN) in said
    for rule in PLAN.rules:
        assert isinstance(rule, RuleLine)
        assert rule.name in said
    assert "break-even" in said


def test_a_plan_without_a_step_time_says_so() -> None:
    first = asked()
    bare = Asked(
        job="demo", question=type(first.question)(**{**vars(first.question), "work": None})
    )
    plan = whole_plan(bare)
    assert "Unknown: the table has no rate" in plan_page(plan)
    assert step_bars(plan) == []
    assert plan.cost is None


def test_bars_stay_within_their_track() -> None:
    for bars in (memory_bars(PLAN, cards_to_draw(PLAN)), step_bars(PLAN)):
        for bar in bars:
            for piece in bar.segments:
                assert 0 <= piece.left <= 100
                assert piece.left + piece.width <= 100.5


def test_the_chosen_card_is_drawn_beside_others_of_other_sizes() -> None:
    names = cards_to_draw(PLAN)
    assert PLAN.chosen in names
    sizes = [card.memory_bytes for card in PLAN.cards if card.card in names]
    assert len(set(sizes)) == len(sizes) <= 8


@given(low=st.floats(1e-6, 1e8), times=st.floats(1, 100))
def test_a_span_of_seconds_is_in_one_unit(low: float, times: float) -> None:
    said = seconds_span(Interval(low=low, high=low * times))
    assert re.fullmatch(r"[\d.,e+-]+( to [\d.,e+-]+)? (us|ms|s|min|h)", said)


BASE = request()


def test_a_form_changes_the_request_and_what_was_assumed_of_it() -> None:
    changed, card = request_of(
        {"size": "832x480", "frames": "33", "batch": "2", "gpus": "4", "precision": "bf16-mixed",
         "checkpointing": "none", "card": "L40S"}, BASE,
    )  # fmt: skip
    assert (changed.width, changed.height, changed.frames) == (832, 480, 33)
    assert (changed.batch, changed.gpus, changed.sharding) == (2, 4, "ddp")
    assert card == "L40S"
    assert request_of({"card": "the best"}, BASE)[1] is None


@pytest.mark.parametrize(
    "values",
    [{"size": "wide"}, {"size": "0x10"}, {"frames": "-1"}, {"frames": "many"}, {"batch": "1e9"},
     {"gpus": "\u0663"}, {"precision": "int3"}, {"mode": "lora"}, {"card": "x" * 99}],
)  # fmt: skip
def test_values_that_no_form_has_are_errors(values: dict[str, str]) -> None:
    with pytest.raises(UserError):
        request_of(values, BASE)


def test_every_option_of_every_slider_makes_a_request() -> None:
    for field in form_of(BASE, BASE, FACTS, question().cards, None).fields:
        assert field.value in field.options
        for option in field.options:
            request_of({field.name: option}, BASE)


def test_the_job_is_planned_again_with_the_values_of_a_form() -> None:
    first = asked()
    more = ask_again(first, {"frames": "98", "card": "H200 SXM"}, estimate_of)
    assert more.question.request.frames == 98
    assert more.question.card == "H200 SXM"
    assert more.question.estimate.allocated_bytes > first.question.estimate.allocated_bytes
    with pytest.raises(UserError, match="no card"):
        ask_again(first, {"card": "H300"}, estimate_of)

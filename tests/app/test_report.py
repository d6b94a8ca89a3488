from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from filmgate.app.page import keep_units
from filmgate.app.report import write_report
from filmgate.app.run_summary import LeftOutVideo, RunSummary
from filmgate.diagnose import diagnose
from filmgate.errors import UserError
from filmgate.records.telemetry import AnyLine
from filmgate.spec import Job
from tests.app.runs import SUMMARY
from tests.diagnose.synthetic import COMPUTE_BOUND, DATA_BOUND, resumed, simulate, write_run

TEMPLATES = Path(__file__).parents[2] / "src" / "filmgate" / "app" / "templates"


class Page(HTMLParser):
    """What the tests ask of a page: its tags with attributes, and the text a reader sees."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "line", "rect", "circle", "path", "use"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def written(folder: Path, lines: list[AnyLine], summary: RunSummary = SUMMARY) -> str:
    return write_report(write_run(folder, lines), summary).read_text()


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    setup = replace(DATA_BOUND, evaluate_every=20)
    lines = resumed(setup, killed_after=37, resumed_from=25)
    return written(tmp_path_factory.mktemp("run"), lines)


def test_the_verdict_and_what_to_change_stand_first(text: str) -> None:
    said = Page(text).text
    assert "Data-bound high confidence" in said
    assert "The trainer waited for data" in said
    assert said.index("Change first") < said.index("In numbers") < said.index("Where the time goes")


def test_the_page_shows_all_that_a_run_leaves(text: str) -> None:
    said = Page(text).text
    for wanted in (
        "119 clips/s",
        "2 attempts",
        "of 40 held-out clips",
        "Time by part, over the counted steps",
        "done again after a resume",
        "Make a training copy",
        "frames decoded per frame delivered",
        "Held-out clips by class, weakest first",
        "50 % (30 to 70 %)",
        "h264 (10), hevc (2)",
        "Left out: 2 files",
        "no video stream",
        "Clips skipped or replaced while training: 3",
        "frames 4 to 18",
        "2 more are counted",
        "commit_every_steps",
        "blake3:" + "ab" * 32,
        "How the numbers are defined",
        "as MLPerf Storage defines it",
    ):
        assert wanted in said, wanted


def test_the_page_needs_nothing_outside_and_runs_nothing(text: str) -> None:
    page = Page(text)
    forbidden = {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    assert not forbidden & {tag for tag, _ in page.tags}
    for _, attributes in page.tags:
        assert not {"src", "srcset", "action"} & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
        target = attributes.get("href") or attributes.get("xlink:href") or "#"
        assert target.startswith("#")
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_names_from_outside_are_text_and_never_markup(text: str) -> None:
    page = Page(text)
    assert "cam3/<script>alert(1)</script>.mp4" in page.text
    assert "<b>person</b>" in page.text
    assert not page.named("b")


def test_a_name_that_is_no_unicode_is_still_shown(text: str) -> None:
    assert "cam1/\\udcff&amp;" in text


def test_ids_are_unique_and_links_lead_somewhere(text: str) -> None:
    page = Page(text)
    ids = Counter(str(attributes["id"]) for _, attributes in page.tags if "id" in attributes)
    assert max(ids.values()) == 1
    for attributes in page.named("a") + page.named("use"):
        target = attributes.get("href") or attributes.get("xlink:href") or ""
        assert target.removeprefix("#") in ids
    for _, attributes in page.tags:
        for name in (attributes.get("aria-labelledby") or "").split():
            assert name in ids


def test_tables_have_captions_and_headings_have_no_gaps(text: str) -> None:
    page = Page(text)
    assert len(page.named("caption")) == len(page.named("table")) >= 6
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert set(levels[1:]) == {2}
    assert all("scope" in attributes for attributes in page.named("th"))
    assert page.named("html")[0]["lang"] == "en"


def test_every_element_is_closed(text: str) -> None:
    assert Page(text).open == []


def test_a_healthy_run_says_so(tmp_path: Path) -> None:
    said = Page(written(tmp_path, simulate(COMPUTE_BOUND))).text
    assert "Compute-bound, as it should be" in said


def test_a_run_without_steps_has_a_page_too(tmp_path: Path) -> None:
    bare = RunSummary(name="bare", job=Job(), target="source", num_videos=0, left_out=[])
    said = Page(written(tmp_path, simulate(DATA_BOUND)[:1], bare)).text
    assert "Cannot say what holds this run back" in said
    assert "What would tell" in said
    assert "The held-out clips were not scored." in said
    assert "No file was left out." in said


def test_a_long_list_is_cut_and_counted(tmp_path: Path) -> None:
    many = [LeftOutVideo(path=f"{number}.mp4", reason="empty") for number in range(1000)]
    summary = msgspec.structs.replace(SUMMARY, left_out=many)
    said = Page(written(tmp_path, simulate(DATA_BOUND)[:1], summary)).text
    assert "Left out: 1000 files" in said
    assert "and 800 more; all are in the catalog" in said
    assert "200.mp4" not in said


def test_the_same_run_and_verdict_give_the_same_page(tmp_path: Path) -> None:
    folder = write_run(tmp_path, simulate(DATA_BOUND))
    verdict = diagnose(folder)
    first = write_report(folder, SUMMARY, verdict).read_bytes()
    assert write_report(folder, SUMMARY, verdict).read_bytes() == first


def test_a_folder_without_telemetry_gets_no_report(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        write_report(tmp_path, SUMMARY)


def test_a_number_and_its_unit_are_not_torn_apart() -> None:
    assert keep_units("0.2 % of 15 ms at 3 clips/s") == (
        "0.2\u00a0% of 15\u00a0ms at 3\u00a0clips/s"
    )
    assert keep_units("6 steps and 2 more") == "6 steps and 2 more"


def themes() -> dict[str, dict[str, str]]:
    css = (TEMPLATES / "report.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", css, flags=re.DOTALL)
    light, dark = (dict(re.findall(r"(--[a-z-]+): (#[0-9a-f]{6})", block)) for block in blocks)
    return {"light": light, "dark": light | dark}


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_lines_stand_out_from_the_page(theme: str) -> None:
    colours = themes()[theme]
    for ground in ("--page", "--panel"):
        for ink in ("--ink", "--soft", "--link", "--good", "--bad", "--violet"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    for line in ("--demand", "--delivered", "--supply", "--data-wait", "--forward"):
        assert contrast(colours[line], colours["--page"]) >= 3, line

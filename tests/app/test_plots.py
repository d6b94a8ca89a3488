from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import matplotlib as mpl
import pytest

from filmgate.app.plots import all_plots
from filmgate.app.series import Series, read_series, trend
from filmgate.app.svg import COLOURS, Plot
from filmgate.diagnose.judge import judge
from filmgate.records.telemetry import AnyLine
from tests.diagnose.synthetic import COMPUTE_BOUND, DATA_BOUND, resumed, simulate


def drawn(lines: list[AnyLine], chance: float | None = 0.25) -> dict[str, Plot]:
    verdict = judge(lines, telemetry_digest="blake3:00")
    return {plot.name: plot for plot in all_plots(read_series(lines), verdict, chance)}


@pytest.fixture(scope="module")
def plots() -> dict[str, Plot]:
    setup = replace(DATA_BOUND, evaluate_every=20)
    return drawn(resumed(setup, killed_after=37, resumed_from=25))


def test_a_run_has_a_plot_of_time_rates_queue_loss_and_accuracy(plots: dict[str, Plot]) -> None:
    assert list(plots) == ["steps", "rates", "queue", "loss", "accuracy"]


def test_captions_say_what_to_see(plots: dict[str, Plot]) -> None:
    assert "is waiting for data" in plots["steps"].caption
    assert "the faded steps are warm-up" in plots["steps"].caption
    assert "is cut off" in plots["steps"].caption
    assert "which is less than is wanted" in plots["rates"].caption
    assert re.search(r"A batch lay ready at \d\d % of the steps", plots["queue"].caption)
    assert "The training loss fell from" in plots["loss"].caption
    assert "resumed after step 25" in plots["loss"].caption
    assert "where guessing gets 25 %" in plots["accuracy"].caption


def test_every_plot_is_one_svg_that_a_screen_reader_can_name(plots: dict[str, Plot]) -> None:
    for plot in plots.values():
        for svg in (plot.wide, plot.narrow):
            root = ET.fromstring(str(svg).replace("xlink:href", "href"))
            assert root.get("role") == "img"
            assert (root.findtext("title") or "") == plot.title
            assert (root.findtext("desc") or "") == plot.caption
            texts = ["".join(text.itertext()) for text in root.iter("text")]
            assert "step" in texts


def test_the_vertical_axes_name_their_units(plots: dict[str, Plot]) -> None:
    units = {
        "steps": "seconds per step",
        "rates": "clips per second",
        "queue": "batches ready",
        "loss": "loss",
        "accuracy": "percent right",
    }
    for name, unit in units.items():
        assert f">{unit}</text>" in plots[name].wide


def test_no_id_stands_twice_on_a_page(plots: dict[str, Plot]) -> None:
    page = "".join(plot.wide + plot.narrow for plot in plots.values())
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    links = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', page)
    assert {one or other for one, other in links} <= set(ids)


def test_colours_and_fonts_are_the_pages_own(plots: dict[str, Plot]) -> None:
    for plot in plots.values():
        for svg in (plot.wide, plot.narrow):
            assert not [colour for colour in COLOURS.values() if colour in svg]
            assert not re.search(r"#[0-9a-f]{6}", svg)
            assert "font-family" not in svg
            assert "<style" not in svg
            assert "http" not in svg


def test_the_same_run_draws_the_same_bytes() -> None:
    lines = simulate(DATA_BOUND)
    assert drawn(lines) == drawn(lines)


def test_drawing_leaves_the_settings_of_matplotlib_alone() -> None:
    before = dict(mpl.rcParams)
    drawn(simulate(DATA_BOUND))
    assert dict(mpl.rcParams) == before


def test_a_long_run_makes_no_larger_picture() -> None:
    short = drawn(simulate(replace(DATA_BOUND, steps=200)))
    long = drawn(simulate(replace(DATA_BOUND, steps=2000)))
    for name, plot in short.items():
        assert len(long[name].wide) < 2 * len(plot.wide)


def test_a_healthy_run_reads_as_healthy() -> None:
    plots = drawn(simulate(COMPUTE_BOUND))
    assert "0.0 % of the time is waiting for data" in plots["steps"].caption
    assert "which is enough" in plots["rates"].caption
    assert "most were there in time" in plots["queue"].caption


def test_without_workers_there_is_no_queue_to_show() -> None:
    assert "queue" not in drawn(simulate(replace(DATA_BOUND, workers=0)))


def test_a_run_without_steps_has_no_plots() -> None:
    assert drawn(simulate(DATA_BOUND)[:1]) == {}


def test_a_single_step_is_drawn_too() -> None:
    plots = drawn(simulate(replace(DATA_BOUND, steps=1)))
    assert "none counts" in plots["steps"].caption


@pytest.mark.parametrize("at_most", [1, 7, 120])
def test_bins_cover_every_step_once_and_keep_warm_up_apart(at_most: int) -> None:
    series: Series = read_series(resumed(DATA_BOUND, killed_after=37, resumed_from=25))
    bins = series.bins(at_most)
    assert [place for bin_ in bins for place in bin_] == list(range(len(series.steps)))
    for bin_ in bins:
        assert len({series.counted[place] for place in bin_}) == 1


def test_a_trend_is_the_mean_of_the_first_and_the_last_tenth() -> None:
    assert trend([5.0]) == (5.0, 5.0)
    assert trend([float(value) for value in range(20)]) == (0.5, 18.5)
    with pytest.raises(ValueError, match="no values"):
        trend([])

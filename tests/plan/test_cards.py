from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from filmgate.errors import UserError
from filmgate.plan.cards import find_card, read_cards, stale_prices
from filmgate.plan.prices import read_prices, stale_figures

HEADER = "thing,figure,low,high,unit,source,date\n"


def written(folder: Path, *rows: str) -> Path:
    file = folder / "mine.csv"
    file.write_text(HEADER + "".join(f"{row}\n" for row in rows))
    return file


def test_every_figure_of_the_table_has_a_source_and_a_date() -> None:
    for card in read_cards():
        for figure in card.figures.values():
            assert figure.source
            assert date.fromisoformat(figure.date)


def test_figures_are_in_base_units() -> None:
    card = find_card(read_cards(), "H100 SXM")
    assert card.memory_bytes == 80 * 2**30
    assert card.memory_bytes_per_second == 3350e9
    assert card.link_bytes_per_second == 450e9
    assert card.rent_usd_per_hour is not None
    assert card.rent_usd_per_hour.low < card.rent_usd_per_hour.high


def test_what_nobody_found_is_none() -> None:
    card = find_card(read_cards(), "RTX 4080")
    assert card.price_usd is None
    assert card.num_decode_engines is None
    assert card.matmul_flops_per_second is None


def test_a_name_is_found_whatever_its_case_and_spaces() -> None:
    assert find_card(read_cards(), "rtx4090").name == "RTX 4090"


def test_a_card_that_does_not_exist_names_those_near_it() -> None:
    with pytest.raises(UserError, match="near it: RTX 5090") as caught:
        find_card(read_cards(), "RTX 5090 Ti")
    assert "--cards" in caught.value.hint


def test_a_name_of_several_cards_names_them() -> None:
    with pytest.raises(UserError, match="H100 PCIe, H100 SXM, H100 NVL"):
        find_card(read_cards(), "H100")


def test_a_users_figure_stands_above_the_tables_and_the_rest_stays(tmp_path: Path) -> None:
    over = written(tmp_path, "L40S,price,7000,7500,USD,quotation,2026-11-01")
    card = find_card(read_cards(over), "L40S")
    assert card.price_usd is not None
    assert (card.price_usd.low, card.price_usd.high) == (7000, 7500)
    assert card.figures["price"].source == "quotation"
    assert card.memory_bytes == 48 * 2**30


def test_a_users_card_is_added(tmp_path: Path) -> None:
    over = written(tmp_path, "Mine,memory,64,,GiB,label,2026-11-01")
    card = find_card(read_cards(over), "Mine")
    assert card.memory_bytes == 64 * 2**30
    assert card.bf16_flops_per_second is None


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("L4,price,-5,,USD,me,2026-11-01", "-5 to -5 USD"),
        ("L4,bandwidth,0.3,,GB/s,me,2026-11-01", "is the unit right"),
        ("L4,bandwidth,0.3,,TB/s,me,2026-11-01", "its unit is GB/s"),
        ("L4,memory,24,,GiB,,2026-11-01", "source is empty"),
        ("L4,memory,24,,GiB,me,yesterday", "no date"),
        ("L4,colour,green,,word,me,2026-11-01", "no figure is called"),
        ("L4,memory,much,,GiB,me,2026-11-01", "'much'"),
        ("L4,memory,32,24,GiB,me,2026-11-01", "lower bound first"),
        ("L4,ecc,perhaps,,yes/no,me,2026-11-01", "yes or no"),
        ("L4,memory,nan,,GiB,me,2026-11-01", "nan"),
        ("New,power,100,,W,me,2026-11-01", "no memory"),
        ("L4,compute_capability,new,,word,me,2026-11-01", "compute_capability"),
    ],
)
def test_a_wrong_row_is_an_error_that_says_what_is_allowed(
    tmp_path: Path, row: str, said: str
) -> None:
    with pytest.raises(UserError) as caught:
        read_cards(written(tmp_path, row))
    assert said in f"{caught.value.message} {caught.value.hint}"


def test_a_figure_that_stands_there_twice_is_an_error(tmp_path: Path) -> None:
    row = "L4,price,2000,,USD,me,2026-11-01"
    with pytest.raises(UserError, match="line 3: price of L4 stands there twice"):
        read_cards(written(tmp_path, row, row))


def test_only_old_prices_are_stale_never_old_specifications() -> None:
    cards = read_cards()
    assert stale_prices(cards, date(2026, 1, 1)) == []
    old = stale_prices(cards, date(2030, 1, 1))
    assert {figure.figure for figure in old} == {"price", "rent"}
    assert [figure.date for figure in old] == sorted(figure.date for figure in old)


def test_prices_can_be_replaced_one_by_one(tmp_path: Path) -> None:
    over = written(tmp_path, "electricity,tariff,0.3,0.32,USD/kWh,my bill,2026-10-01")
    prices = read_prices(over)
    assert (prices.usd_per_kwh.low, prices.usd_per_kwh.high) == (0.3, 0.32)
    assert prices.egress_usd_per_gb == read_prices().egress_usd_per_gb
    assert len(stale_figures(prices, date(2027, 12, 1))) == len(prices.figures)


def test_a_negative_price_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="-1"):
        read_prices(written(tmp_path, "egress,per_gb,-1,,USD/GB,me,2026-11-01"))

"""Recipes: what contradicts itself is refused, and the digest follows the content."""

from __future__ import annotations

import msgspec
import pytest

from filmgate.errors import UserError
from filmgate.prepare.recipe import Layout, Recipe, check_recipe

TEMPORAL = Layout(name="temporal", codec="h264", quality=20, key_every=16, reference_every=4)


def test_a_recipe_with_a_size_and_a_short_side_is_refused() -> None:
    with pytest.raises(UserError, match="both a size and a short side"):
        check_recipe(Recipe(layout=TEMPORAL, size=(256, 456), short_side=256))


@pytest.mark.parametrize(
    ("layout", "why"),
    [
        (Layout(name="intra", codec="h264", quality=20, key_every=8), "by itself"),
        (Layout(name="jpeg", codec="jpeg", quality=4, reference_every=2), "reference_every is 2"),
        (Layout(name="decoded", codec="raw", quality=3), "raw frames have none"),
        (Layout(name="temporal", codec="av1", quality=20, key_every=8, reference_every=4), "av1"),
        (Layout(name="temporal", codec="h264", quality=20, key_every=8), "2 or more"),
        (Layout(name="temporal", codec="h264", quality=20, key_every=9, reference_every=2), "mult"),
        (Layout(name="short-gop", codec="h264", quality=20, reference_every=4), "only temporal"),
        (Layout(name="jpeg", codec="h264", quality=20), "go together"),
        (Layout(name="intra", codec="raw", quality=0), "go together"),
        (Layout(name="intra", codec="mpeg4", quality=1), "2 to 31"),
    ],
)
def test_a_layout_that_contradicts_itself_is_refused(layout: Layout, why: str) -> None:
    with pytest.raises(UserError, match=why):
        check_recipe(Recipe(layout=layout))


def test_the_digest_of_a_recipe_follows_every_field() -> None:
    recipe = Recipe(layout=TEMPORAL, short_side=256)
    others = [
        msgspec.structs.replace(recipe, short_side=128),
        msgspec.structs.replace(recipe, fps=10.0),
        msgspec.structs.replace(recipe, layout=msgspec.structs.replace(TEMPORAL, quality=21)),
    ]
    assert recipe.digest == Recipe(layout=TEMPORAL, short_side=256).digest
    assert len({recipe.digest, *[other.digest for other in others]}) == 4

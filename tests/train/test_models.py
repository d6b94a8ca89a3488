from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from filmgate.errors import UserError
from filmgate.spec import Job
from filmgate.train.models import (
    build_model,
    check_logits,
    load_factory,
    small_video_classifier,
)

USER_MODEL = """
from torch import nn

NOT_A_FUNCTION = 3

def my_model(job, num_classes):
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(num_classes))

def my_dictionary(job, num_classes):
    return {}

def my_greedy_model(job, num_classes, width):
    return nn.Identity()

def my_failing_model(job, num_classes):
    raise ValueError("no such backbone")

def my_leaving_model(job, num_classes):
    raise SystemExit(0)
"""


@pytest.fixture
def user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A current directory with ``user_models.py`` in it."""
    (tmp_path / "user_models.py").write_text(USER_MODEL)
    (tmp_path / "user_broken.py").write_text("def my_model(:\n")
    (tmp_path / "user_needs_more.py").write_text("import a_package_nobody_has\n")
    (tmp_path / "user_fails.py").write_text("import sys\nsys.stdin.no_such_thing\n")
    (tmp_path / "user_leaves.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.chdir(tmp_path)
    path_before, modules_before = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path_before
    for name in set(sys.modules) - modules_before:
        if name.startswith("user_"):
            del sys.modules[name]


@pytest.mark.parametrize("shape_BTCHW", [(2, 8, 3, 112, 112), (1, 1, 3, 16, 16), (3, 5, 3, 33, 57)])
def test_the_default_model_takes_clips_of_any_shape(shape_BTCHW: tuple[int, ...]) -> None:
    logits = small_video_classifier(Job(), 5)(torch.zeros(shape_BTCHW))
    assert check_logits(logits, "model", (shape_BTCHW[0], 5)) is logits


def test_the_default_model_is_small() -> None:
    model = small_video_classifier(Job(), 4)
    assert 200_000 < sum(p.numel() for p in model.parameters()) < 600_000


def test_the_clips_of_a_batch_do_not_touch_each_other() -> None:
    model = small_video_classifier(Job(), 3)
    clips_BTCHW = torch.randn(2, 4, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    alone, together = model(clips_BTCHW[:1]), model(clips_BTCHW)
    assert torch.allclose(alone[0], together[0], atol=1e-6)


def test_a_model_in_the_current_directory_is_found(user_folder: Path) -> None:
    model = build_model("user_models:my_model", Job(), 3)
    assert isinstance(model, nn.Module)
    assert model(torch.zeros(2, 4, 3, 8, 8)).shape == (2, 3)


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("user_model:my_model", "no module user_model", "user_models"),
        ("filmgate.train.model:x", "no module filmgate.train.model", "filmgate.train.models"),
        ("user_models:my_modell", r"user_models.py\) has no my_modell", "my_model"),
        ("user_models:NOT_A_FUNCTION", "is int, expected a function", "job, num_classes"),
        ("user_models:my_greedy_model", "width", "def my_model"),
        ("user_broken:my_model", "no valid Python", "mend"),
        ("user_needs_more:my_model", "a_package_nobody_has", "install a_package_nobody_has"),
    ],
)
def test_a_factory_that_cannot_be_used_is_refused_with_the_nearest_name(
    user_folder: Path, name: str, message: str, hint: str
) -> None:
    with pytest.raises(UserError, match=message) as raised:
        load_factory(name)
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("user_fails:my_model", r"importing user_fails raised AttributeError.*user_fails\.py:2"),
        ("user_leaves:my_model", r"importing user_leaves raised SystemExit.*user_leaves\.py:2"),
        ("user_models:my_failing_model", r"no such backbone \(.*user_models\.py:\d+ in my_failing"),
        ("user_models:my_leaving_model", r"raised SystemExit: 0 \(.*user_models\.py"),
    ],
)
def test_what_the_users_code_raises_names_its_line(
    user_folder: Path, name: str, message: str
) -> None:
    with pytest.raises(UserError, match=message) as raised:
        build_model(name, Job(), 3)
    assert raised.value.hint
    assert "importlib" not in raised.value.message


def test_a_factory_that_returns_no_module_is_refused(user_folder: Path) -> None:
    with pytest.raises(UserError, match=r"returned dict, expected torch\.nn\.Module"):
        build_model("user_models:my_dictionary", Job(), 3)


@pytest.mark.parametrize(
    ("logits", "got"),
    [
        (torch.zeros(2, 4), r"shape \(2, 4\)"),
        (torch.zeros(2, 3, 1), r"shape \(2, 3, 1\)"),
        (torch.zeros(2, 3, dtype=torch.int64), "torch.int64"),
        ({"logits": torch.zeros(2, 3)}, "dict"),
    ],
)
def test_an_output_of_another_shape_or_kind_is_refused(logits: object, got: str) -> None:
    with pytest.raises(UserError, match=got):
        check_logits(logits, "user_models:my_model", (2, 3))

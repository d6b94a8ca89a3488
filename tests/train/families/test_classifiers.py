from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest
import torch

from filmgate.catalog import Catalog
from filmgate.errors import UserError
from filmgate.train.families.classifiers import TransformersClassifier, videomae
from filmgate.train.inputs import PIXEL_DEVIATION, PIXEL_MEAN
from filmgate.train.learner import make_task
from filmgate.train.run import train_run
from tests.train.families.conftest import family_job

pytest.importorskip("transformers", reason="the extra `video` is not installed")
CLIPS_BTCHW = torch.randn((2, 4, 3, 32, 32), generator=torch.Generator().manual_seed(0))


def test_a_tiny_videomae_tells_two_kinds_of_real_clips_apart(
    kinds: Catalog, tmp_path: Path
) -> None:
    train = {"steps": 60, "batch_size": 8, "learning_rate": 1e-3, "commit_every_steps": 60}
    result = train_run(family_job("videomae", train=train), kinds, tmp_path)
    assert result.final_loss < 0.3
    assert result.accuracy is not None and result.accuracy >= 0.9
    assert result.chance == 0.5


@pytest.mark.parametrize("name", ["videomae", "timesformer", "vivit"])
def test_each_classifier_learns_from_its_clips(name: str) -> None:
    task = make_task(family_job(name), 3)
    logits_BK = task.module(CLIPS_BTCHW)
    assert logits_BK.shape == (2, 3)
    torch.autograd.backward(logits_BK.square().mean())
    assert all(one.grad is not None for one in task.module.parameters() if one.requires_grad)
    assert len(task.blocks()) == 2


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A folder as save_pretrained writes it, of a model with 3 classes."""
    module = videomae(family_job("videomae"), 3)
    assert isinstance(module, TransformersClassifier)
    module.model.save_pretrained(tmp_path / "weights")  # type: ignore[operator]
    return tmp_path / "weights"


def test_weights_of_a_folder_are_used_and_nothing_goes_out(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "socket", _no_network)
    monkeypatch.setattr(socket, "create_connection", _no_network)
    one, other = (videomae(_with(saved), 3) for _ in range(2))
    assert torch.equal(one.eval()(CLIPS_BTCHW), other.eval()(CLIPS_BTCHW))


def _no_network(*where: object, **how: object) -> None:
    raise AssertionError("a network call")


def test_only_the_head_is_drawn_anew_for_other_classes(saved: Path) -> None:
    one, other = videomae(_with(saved), 5), videomae(_with(saved), 5)
    assert one(CLIPS_BTCHW).shape == (2, 5)
    same = {
        name
        for (name, a), b in zip(one.named_parameters(), other.parameters(), strict=True)
        if torch.equal(a, b)
    }
    lost = {name for name, _ in one.named_parameters()} - same
    assert lost == {"model.classifier.weight"}


def test_weights_get_the_normalisation_that_they_were_trained_with(saved: Path) -> None:
    (saved / "preprocessor_config.json").write_text(
        '{"image_mean": [0.5, 0.4, 0.3], "image_std": [0.1, 0.2, 0.3]}'
    )
    module = videomae(_with(saved), 3)
    assert isinstance(module, TransformersClassifier)
    pixels_C11 = CLIPS_BTCHW * PIXEL_DEVIATION + PIXEL_MEAN
    mean, deviation = torch.tensor([0.5, 0.4, 0.3]), torch.tensor([0.1, 0.2, 0.3])
    wanted = (pixels_C11 - mean[:, None, None]) / deviation[:, None, None]
    plain = module.model(pixel_values=wanted).logits
    assert torch.allclose(module(CLIPS_BTCHW), plain, atol=1e-5)


def test_a_folder_without_the_models_weights_is_refused(saved: Path) -> None:
    (saved / "model.safetensors").unlink()
    with pytest.raises(UserError, match="cannot be read"):
        videomae(_with(saved), 3)
    with pytest.raises(UserError, match=r"no config\.json in that folder") as raised:
        videomae(_with(saved / "nowhere"), 3)
    assert "hub" in raised.value.hint


def test_clips_of_another_size_than_the_weights_are_refused(saved: Path) -> None:
    job = family_job("videomae", model={"weights": str(saved)}, clip={"frames": 8})
    with pytest.raises(UserError, match=r"takes 4 frames of 32x32, .* gives 8") as raised:
        videomae(job, 3)
    assert "frames = 4" in raised.value.hint


def test_a_key_that_the_model_does_not_know_is_refused() -> None:
    job = family_job("videomae", model={"config": {"num_attention_heads": "many"}})
    with pytest.raises(UserError, match="VideoMAEConfig"):
        videomae(job, 3)
    job = family_job("videomae", model={"config": {"num_hidden_layer": 2}})
    with pytest.raises(UserError, match="VideoMAEConfig has no key num_hidden_layer") as raised:
        videomae(job, 3)
    assert raised.value.hint == "did you mean num_hidden_layers?"


def test_a_library_that_is_not_installed_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UserError, match="needs transformers") as raised:
        videomae(family_job("videomae"), 3)
    assert raised.value.hint == "pip install 'filmgate[video]'"


def test_an_adapter_for_a_classifier_is_refused() -> None:
    with pytest.raises(UserError, match="adapter"):
        videomae(family_job("videomae", adapter={"method": "lora"}), 3)


def _with(folder: Path):  # type: ignore[no-untyped-def]
    return family_job("videomae", model={"weights": str(folder)})

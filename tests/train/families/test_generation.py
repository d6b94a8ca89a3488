from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import av
import pytest
import torch

from filmgate.catalog import Catalog, index_videos
from filmgate.errors import UserError
from filmgate.feed import open_feed
from filmgate.spec import Job
from filmgate.train.families.adapter import FILE
from filmgate.train.families.cache import cache_latents
from filmgate.train.families.generation import GenerationTask, wan
from filmgate.train.learner import make_task
from filmgate.train.run import train_run
from filmgate.train.storage import read_weights
from tests.footage import write_video
from tests.train.families.conftest import CONFIGS, family_job, run_folder

diffusers = pytest.importorskip("diffusers", reason="the extra `video` is not installed")
pytest.importorskip("peft", reason="the extra `video` is not installed")
BASE_STEPS, LORA_STEPS = 80, 150
LORA = {"method": "lora", "rank": 16, "targets": "all-linear"}


@pytest.fixture(scope="module")
def base(kinds: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with a tiny Wan, trained whole on two kinds of clips."""
    folder = tmp_path_factory.mktemp("base")
    train_run(family_job("wan", train=_train(BASE_STEPS, 5e-3)), kinds, folder)
    return folder


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Footage of another kind."""
    root = tmp_path_factory.mktemp("others")
    for hue in (80, 84):
        write_video(root / f"{hue}.mp4", num_frames=60, hue=hue)
    return index_videos([root], tmp_path_factory.mktemp("catalog"), workers=1)


def _train(steps: int, learning_rate: float) -> dict[str, Any]:
    return {
        "steps": steps, "batch_size": 8, "learning_rate": learning_rate,
        "commit_every_steps": steps,
    }  # fmt: skip


def test_a_tiny_wan_lora_learns_other_footage_and_plain_diffusers_loads_it(
    base: Path, others: Catalog, tmp_path: Path
) -> None:
    job = family_job(
        "wan", model={"weights": str(base)}, adapter=LORA, data={"target": "source"},
        train=_train(LORA_STEPS, 2e-2),
    )  # fmt: skip
    result = train_run(job, others, tmp_path)
    assert result.holdout_loss is not None
    assert result.holdout_loss < 0.92 * _loss(wan(job, 2), job, others)

    plain = diffusers.WanTransformer3DModel.from_pretrained(base / "transformer")
    trained = _with_commit(job, others, tmp_path)
    before = _said(plain)
    plain.load_lora_adapter(tmp_path / "adapter", weight_name=FILE)
    assert torch.allclose(_said(plain), _said(trained.module), atol=1e-5)
    assert (_said(plain) - before).abs().max() > 0.05
    plain.delete_adapters("default_0" if "default_0" in plain.peft_config else "default")
    assert result.num_parameters < 0.3 * sum(p.numel() for p in trained.module.parameters())


def _with_commit(job: Job, catalog: Catalog, folder: Path) -> GenerationTask:
    """The task of a finished run, its weights those of the last commit."""
    task = make_task(job, 2)
    assert isinstance(task, GenerationTask)
    newest = max((folder / "commits").iterdir())
    weights = read_weights(newest)
    learnt = {name for name, part in task.module.named_parameters() if part.requires_grad}
    assert learnt <= set(weights)
    task.module.load_state_dict(weights, strict=False)
    return task


def _said(module: Any) -> torch.Tensor:
    drawn = torch.Generator().manual_seed(3)
    noisy, text = (torch.randn(s, generator=drawn) for s in ((1, 48, 4, 8, 8), (1, 8, 32)))
    with torch.no_grad():
        said: torch.Tensor = module.eval()(
            hidden_states=noisy, timestep=torch.tensor([500.0]), encoder_hidden_states=text
        ).sample
    return said


def _loss(task: Any, job: Job, catalog: Catalog) -> float:
    """On the held-out clips, as it stands."""
    task.begin(catalog)
    meter = task.meter()
    with open_feed(job, catalog, split="holdout") as feed, torch.no_grad():
        for batch in feed:
            meter.add(task.module.eval(), batch)
    score = meter.score([meter.found()])
    assert score is not None
    loss: float = score.loss
    return loss


def test_a_run_leaves_weights_that_diffusers_loads_and_clips_that_play(base: Path) -> None:
    with av.open(str(base / "samples" / "00.mp4")) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(frames) == 4 and frames[0].shape == (32, 32, 3)
    assert (base / "samples" / "grid.png").stat().st_size > 1000
    assert set((base / "samples" / "texts.txt").read_text().split()) <= {"blue", "green"}
    result = json.loads((base / "train.json").read_text())
    levels = [f"loss at noise {level}" for level in ("0.1", "0.3", "0.5", "0.7", "0.9")]
    assert list(result["metrics"]) == levels
    assert result["accuracy"] is None
    assert result["holdout_loss"] < 0.75, "1 is what noise alone would leave"


@pytest.mark.parametrize("name", ["wan", "ltx_video", "cogvideox", "hunyuan_video"])
@pytest.mark.parametrize("objective", ["flow-matching", "v-prediction"])
def test_each_generator_takes_a_step_with_each_objective(
    name: str, objective: str, kinds: Catalog
) -> None:
    job = family_job(name, generation={"objective": objective})
    task = make_task(job, 2)
    task.begin(kinds)
    with open_feed(job, kinds) as feed:
        batch = next(iter(feed))
    loss = task.loss(task.module, task.inputs(batch))
    torch.autograd.backward(loss)
    assert torch.isfinite(loss)
    trained = [p for p in task.module.parameters() if p.grad is not None]
    assert len(trained) > 0.9 * len(list(task.module.parameters()))


@pytest.mark.parametrize("name", ["ltx_video", "cogvideox", "hunyuan_video"])
def test_an_adapter_of_each_generator_loads_in_plain_diffusers(name: str, tmp_path: Path) -> None:
    task = make_task(family_job(name, adapter=LORA), 2)
    assert isinstance(task, GenerationTask)
    drawn = torch.Generator().manual_seed(0)
    learnt = {
        part: torch.randn(parameter.shape, generator=drawn)
        for part, parameter in task.module.named_parameters()
        if parameter.requires_grad
    }
    task.module.load_state_dict(learnt, strict=False)
    task.finish(tmp_path)
    plain: Any = getattr(diffusers, task.backbone.kind).from_config(dict(task.module.config))  # type: ignore[call-overload]
    plain.load_lora_adapter(tmp_path / "adapter", weight_name=FILE)
    there = {part.replace(".default_0.", ".default."): p for part, p in plain.named_parameters()}
    assert all(torch.equal(there[part], value) for part, value in learnt.items())
    assert len(learnt) > 4


def test_cached_latents_and_texts_are_made_once_and_change_nothing(
    kinds: Catalog, tmp_path: Path
) -> None:
    fixed = {"clip": {"crop": "centre", "flip": False, "sampling": "uniform", "stride": None}}
    fixed["train"] = _train(4, 1e-3)
    plain = family_job("wan", **fixed)
    cached = family_job("wan", **fixed, generation={"latents": str(tmp_path / "latents")})
    results = [
        train_run(job, kinds, run_folder(tmp_path, name))
        for name, job in {"plain": plain, "first": cached, "again": cached}.items()
    ]
    assert len({result.final_loss for result in results}) == 1

    task = make_task(cached, 2)
    assert isinstance(task, GenerationTask) and task.store is not None
    task.begin(kinds)
    with open_feed(cached, kinds) as feed:
        task.inputs(next(iter(feed)))
    assert (task.store.num_made, task.store.num_found > 0) == (0, True)


def test_damaged_latents_are_refused_and_half_written_ones_are_not_there(
    kinds: Catalog, tmp_path: Path
) -> None:
    job = family_job("wan", generation={"latents": str(tmp_path / "latents")})
    _take_inputs(job, kinds)
    damaged = next((tmp_path / "latents").rglob("*.safetensors"))
    damaged.write_bytes(damaged.read_bytes()[:20])
    with pytest.raises(UserError, match="is damaged"):
        _take_inputs(job, kinds)
    damaged.unlink()
    _take_inputs(job, kinds)


def _take_inputs(job: Job, catalog: Catalog) -> Any:
    task = make_task(job, 2)
    task.begin(catalog)
    with open_feed(job, catalog) as feed:
        return task.inputs(next(iter(feed)))


def test_a_whole_pipelines_folder_brings_its_autoencoder_and_text_encoder(
    kinds: Catalog, tmp_path: Path
) -> None:
    write_pipeline(tmp_path / "pipeline")
    prompts = tmp_path / "prompts.csv"
    ids = kinds.column("video_id").to_pylist()
    prompts.write_text("video,prompt\n" + "".join(f"{one},a clip\n" for one in ids))
    job = family_job(
        "wan", model={"weights": str(tmp_path / "pipeline")}, clip={"frames": 5},
        generation={"prompts": str(prompts)}, adapter=LORA,
    )  # fmt: skip
    inputs = _take_inputs(job, kinds)
    assert inputs.latents_BTCHW.shape == (4, 2, 4, 4, 4)
    assert inputs.text.tokens_BPD.shape == (4, 256, 32)
    assert not inputs.text.is_token_BP.all() and inputs.text.is_token_BP.any()
    task = make_task(job, 2)
    assert task.codec.decode(inputs.latents_BTCHW).shape == (4, 5, 3, 32, 32)  # type: ignore[attr-defined]
    shutil.copytree(tmp_path / "pipeline", tmp_path / "four")
    with pytest.raises(UserError, match="1 more than a multiple of 4") as raised:
        _take_inputs(family_job("wan", model={"weights": str(tmp_path / "four")}), kinds)
    assert "frames = 5" in raised.value.hint
    prompts.write_text("video,prompt\n")
    with pytest.raises(UserError, match="no prompt for the video"):
        _take_inputs(job, kinds)


def write_pipeline(folder: Path) -> None:
    """A folder as a pipeline of diffusers lies on disk, everything in it tiny and untrained."""
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    config = CONFIGS["wan"] | {"in_channels": 4, "out_channels": 4}
    diffusers.WanTransformer3DModel(**config).save_pretrained(folder / "transformer")
    vae = diffusers.AutoencoderKLWan(
        base_dim=8, z_dim=4, dim_mult=[1, 1, 1, 1], num_res_blocks=1,
        latents_mean=[0.1] * 4, latents_std=[2.0] * 4,
    )  # fmt: skip
    vae.save_pretrained(folder / "vae")
    text = transformers.UMT5Config(
        vocab_size=16, d_model=32, d_kv=8, d_ff=32, num_layers=1, num_heads=2
    )
    transformers.UMT5EncoderModel(text).save_pretrained(folder / "text_encoder")
    words = {"<pad>": 0, "</s>": 1, "<unk>": 2, "a": 3, "clip": 4}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder / "tokenizer")


def test_a_step_of_caching_can_be_broken_off_and_goes_on(kinds: Catalog, tmp_path: Path) -> None:
    clip = {"crop": "centre", "flip": False, "sampling": "uniform", "stride": None}
    job = family_job("wan", clip=clip, generation={"latents": str(tmp_path / "latents")})

    def break_off(done: int, wanted: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache_latents(job, kinds, on_progress=break_off)
    rest, again = cache_latents(job, kinds), cache_latents(job, kinds)
    assert rest.num_found > 0 and rest.num_made > 0
    assert again.num_made == 0 and again.num_clips == rest.num_clips
    with pytest.raises(UserError, match="no folder for latents"):
        cache_latents(family_job("wan"), kinds)
    with pytest.raises(UserError, match="has no latents"):
        cache_latents(family_job("videomae", generation={"latents": str(tmp_path)}), kinds)

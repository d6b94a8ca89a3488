"""Tiny configurations of each family, and footage of two kinds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from filmgate.catalog import Catalog, index_videos
from filmgate.spec import Job
from tests.footage import write_video
from tests.train.conftest import a_job

CLASSIFIERS = "filmgate.train.families.classifiers"
GENERATORS = "filmgate.train.families.generation"
_SMALL = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
}  # fmt: skip
_HEADS = {"num_attention_heads": 2, "attention_head_dim": 24}
CONFIGS: dict[str, dict[str, Any]] = {
    "videomae": {**_SMALL, "patch_size": 8},
    "timesformer": {**_SMALL, "patch_size": 8},
    "vivit": {**_SMALL, "tubelet_size": [2, 8, 8]},
    "wan": {
        "num_attention_heads": 4, "attention_head_dim": 48, "text_dim": 32, "freq_dim": 32,
        "ffn_dim": 256, "num_layers": 2,
    },
    "ltx_video": {
        **_HEADS, "cross_attention_dim": 48, "num_layers": 2, "caption_channels": 32,
    },
    "cogvideox": {
        **_HEADS, "text_embed_dim": 32, "num_layers": 2, "max_text_seq_length": 8,
        "sample_width": 8, "sample_height": 8, "sample_frames": 13, "time_embed_dim": 32,
    },
    "hunyuan_video": {
        **_HEADS, "num_layers": 1, "num_single_layers": 1, "num_refiner_layers": 1,
        "text_embed_dim": 32, "pooled_projection_dim": 16, "rope_axes_dim": [4, 10, 10],
    },
}  # fmt: skip
"""Factory -> keys of its model, for clips of 4 frames of 32x32."""


@pytest.fixture(scope="session")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Two videos of each of two kinds, ``blue`` and ``green``."""
    root = tmp_path_factory.mktemp("kinds")
    for kind, hues in {"green": (0, 8), "blue": (40, 48)}.items():
        (root / kind).mkdir()
        for hue in hues:
            write_video(root / kind / f"{hue}.mp4", num_frames=60, hue=hue)
    return index_videos([root], tmp_path_factory.mktemp("catalog"), workers=1)


def family_job(name: str, **tables: dict[str, Any]) -> Job:
    """A small job for the factory of that name."""
    room = CLASSIFIERS if name in ("videomae", "timesformer", "vivit") else GENERATORS
    model = {"factory": f"{room}:{name}", "config": CONFIGS[name]} | tables.pop("model", {})
    if "weights" in model:
        model["config"] = {}
    data = {"target": "label"} | tables.pop("data", {})
    generation = {"sample_clips": 2, "sample_steps": 4} | tables.pop("generation", {})
    return a_job(model=model, data=data, generation=generation, **tables)


def run_folder(tmp_path: Path, name: str) -> Path:
    """A folder of that name."""
    (tmp_path / name).mkdir()
    return tmp_path / name

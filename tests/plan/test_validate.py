from __future__ import annotations

import csv
from pathlib import Path

import pytest

from filmgate.errors import UserError
from filmgate.plan.validate import check_row, read_rows, request_from_row, score, validate_rows

ROWS = Path(__file__).resolve().parents[2].parent / "shared" / "facts" / "vram_calibration.csv"
ROW = {
    "id": "a", "model": "CogVideoX-2B", "params_b": "1.694", "framework": "x", "task": "train",
    "frames": "49", "height": "480", "width": "720", "batch": "4", "method": "lora",
    "lora_rank": "16", "precision": "bf16", "optimizer": "adamw", "grad_ckpt": "block",
    "latents_precomputed": "yes", "offload_or_shard": "", "n_gpu": "1", "mem_value": "21.8",
    "mem_floor": "12.9", "mem_unit": "GiB", "mem_metric": "max_memory_reserved",
    "usable_for": "peak",
}  # fmt: skip


def write(path: Path, *rows: dict[str, str]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_row_within_the_interval_holds() -> None:
    found = check_row(ROW)
    assert found.use == "peak"
    assert found.holds
    assert found.published_bytes == int(21.8 * 2**30)


def test_the_measured_floor_is_not_read() -> None:
    assert check_row(ROW | {"mem_floor": "1"}) == check_row(ROW | {"mem_floor": "70"})


def test_a_row_beyond_the_interval_does_not_hold() -> None:
    assert not check_row(ROW | {"mem_value": "40"}).holds
    assert not check_row(ROW | {"mem_value": "10"}).holds


def test_a_rounded_value_may_be_half_a_digit_off() -> None:
    exact = check_row(ROW | {"mem_value": "26.6"})
    rounded = check_row(ROW | {"mem_value": "24"})
    assert exact.half_digit_bytes == int(0.05 * 2**30)
    assert rounded.half_digit_bytes == 2**29


def test_a_row_out_of_memory_is_never_said_to_fit() -> None:
    row = ROW | {"mem_value": "OOM>80", "grad_ckpt": "none", "model": "CogVideoX-5B"}
    found = check_row(row)
    assert (found.use, found.verdict, found.holds) == ("out of memory", "does not fit", True)
    small = check_row(ROW | {"mem_value": "OOM>80", "batch": "1"})
    assert (small.verdict, small.holds) == ("fits", False)
    assert score([found, small]).num_false_fits == 1


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"model": "Sora"}, "known"), ({"frames": "50"}, "cannot take 50 frames"),
     ({"method": "dreambooth"}, "lora, full"), ({"precision": "int3"}, "bf16"),
     ({"mem_value": "much"}, "a number"), ({"batch": "0"}, "from 1")],
)  # fmt: skip
def test_a_row_that_cannot_be_predicted_says_why_and_does_not_hold(
    changes: dict[str, str], named: str
) -> None:
    found = check_row(ROW | changes)
    assert not found.holds
    assert found.reason is not None
    assert named in found.reason
    assert found.reserved_low_bytes is None


def test_a_size_in_billions_decides_between_the_models_of_a_family() -> None:
    for params, name in (("1.9", "ltx-video-2b"), ("13", "ltx-video-13b")):
        row = ROW | {"model": "LTX-Video", "params_b": params}
        assert request_from_row(row).model == name
    wan = ROW | {"model": "Wan2.1-T2V-14B", "params_b": "14.3"}
    assert request_from_row(wan).model == "wan2.1-14b"


def test_sharding_and_offload_are_read_from_the_rows_words() -> None:
    words = {
        "zero2+offload": ("zero2", "optimizer"), "zero3+offload": ("zero3", "optimizer+weights"),
        "fsdp": ("fsdp2", "none"), "optimizer+grad->cpu": ("ddp", "optimizer+gradients"),
        "": ("ddp", "none"),
    }  # fmt: skip
    for text, wanted in words.items():
        found = request_from_row(ROW | {"offload_or_shard": text, "n_gpu": "8"})
        assert (found.sharding, found.offload) == wanted


def test_a_file_without_the_columns_names_them(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no column task, frames"):
        read_rows(write(tmp_path / "rows.csv", {"id": "a", "model": "b"}))
    (tmp_path / "empty.csv").write_text(",".join(ROW))
    with pytest.raises(UserError, match="has no rows"):
        read_rows(tmp_path / "empty.csv")


def test_a_file_is_scored(tmp_path: Path) -> None:
    found = validate_rows(write(tmp_path / "rows.csv", ROW, ROW | {"id": "b", "mem_value": "60"}))
    assert (found.num_rows, found.num_held, found.share_held) == (2, 1, 0.5)
    assert not found.holds


@pytest.mark.slow
@pytest.mark.skipif(not ROWS.exists(), reason="no published rows beside the checkout")
def test_published_rows_hold_to_80_percent_and_none_out_of_memory_fits() -> None:
    found = validate_rows(ROWS)
    assert found.holds, [row.row for row in found.rows if not row.holds]

"""All-reduce between real processes, and what is made of their answers."""

from __future__ import annotations

import pytest
import torch

from filmgate.bench import sync_sweep
from filmgate.bench.ask import Ask
from filmgate.bench.processes import run_together
from filmgate.bench.sync import bench_sync, choose_backends
from filmgate.bench.sync_rank import SyncAnswer, SyncRequest
from filmgate.bench.sync_sweep import LOOPBACK, RANK, sweep_of
from filmgate.errors import DeadlineError, UserError, WorkError
from tests.patience import PATIENT_SECONDS


def request(**changes: object) -> SyncRequest:
    fields: dict[str, object] = {
        "backend": "gloo", "num_ranks": 2, "sizes": [8, 1 << 20], "warm_up": 1, "repetitions": 2,
        "threads": 1, "timeout_seconds": PATIENT_SECONDS,
    }  # fmt: skip
    return SyncRequest(**(fields | changes))  # type: ignore[arg-type]


def answer(seconds: float, wrong: list[int] | None = None) -> SyncAnswer:
    return SyncAnswer(
        seconds=[[seconds, seconds], [2 * seconds, 2 * seconds]],
        core_seconds=[[0.1, 0.1], [0.2, 0.2]],
        copy_seconds_per_byte=[1e-9, 1e-9],
        wrong_sizes=wrong or [],
        device="cpu",
    )


@pytest.mark.parametrize("ranks", [2, 3])
def test_processes_sum_rightly_and_answer_every_repetition(ranks: int) -> None:
    heard: list[int] = []
    answers = run_together(
        RANK, request(num_ranks=ranks), SyncAnswer, num_processes=ranks,
        deadline_seconds=PATIENT_SECONDS, environment=LOOPBACK, on_lines=heard.append,
    )  # fmt: skip
    assert len(answers) == ranks
    for one in answers:
        assert one.wrong_sizes == []
        assert [len(turns) for turns in one.seconds] == [2, 2]
        assert min(min(turns) for turns in one.seconds) > 0
        assert len(one.copy_seconds_per_byte) == 2
    assert heard[-1] == 4


def test_a_rank_that_fails_ends_all_with_its_reason() -> None:
    with pytest.raises(WorkError, match=r"process \d of 2 ended with exit code 1: .*bad"):
        run_together(
            RANK, request(backend="bad"), SyncAnswer, num_processes=2,
            deadline_seconds=PATIENT_SECONDS, environment=LOOPBACK,
        )  # fmt: skip


def test_ranks_that_wait_for_one_that_never_comes_are_ended_at_the_deadline() -> None:
    with pytest.raises(DeadlineError, match="1 processes"):
        run_together(
            RANK, request(), SyncAnswer, num_processes=1, deadline_seconds=3, environment=LOOPBACK
        )


def test_an_exchange_lasts_until_its_slowest_rank() -> None:
    sweep = sweep_of(request(), [answer(0.1), answer(0.3)], 4)
    assert [one.seconds for one in sweep.link.exchanges] == [0.3, 0.6]
    assert sweep.link.num_cores == 4


def test_no_figure_is_made_of_sums_that_were_wrong() -> None:
    with pytest.raises(UserError, match="summed wrongly at 8 B"):
        sweep_of(request(), [answer(0.1), answer(0.1, wrong=[8])], 4)


def test_the_part_has_bandwidth_fit_and_prediction_with_warm_up_and_spread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sync_sweep, "SIZES", (8, 1 << 20, 4 << 20))
    ask = Ask(quick=True, device="cpu", gradient_bytes=3 << 20, step_seconds=0.05)
    told: list[tuple[int, int]] = []
    part = bench_sync(ask, lambda done, total, note="": told.append((done, total)))
    assert part.status == "measured"
    sweep = [one for one in part.measures if one.name.startswith("all-reduce-gloo")]
    assert [one.name for one in sweep] == [
        "all-reduce-gloo-8-B", "all-reduce-gloo-1-MiB", "all-reduce-gloo-4-MiB",
        "all-reduce-gloo-fit-latency", "all-reduce-gloo-fit-rate",
    ]  # fmt: skip
    assert all(one.repetitions == 5 and one.warm_up for one in sweep)
    alone, beside = (
        part.measure(name) for name in ("predicted-step-share", "predicted-step-share-overlapped")
    )
    assert alone is not None
    assert beside is not None
    assert 0 < beside.median <= alone.median < 1
    assert "Predicted" in alone.definition
    assert told[-1] == (15, 15)
    assert part.unknown == {"all-reduce-nccl": "device cpu was asked for"}


def test_without_gpus_nccl_is_not_present_with_the_reason() -> None:
    if torch.cuda.device_count() >= 2:
        pytest.skip("there are GPUs")
    part = bench_sync(Ask(device="cuda"), lambda done, total, note="": None)
    assert part.status == "not present"
    assert "NCCL needs 2 GPUs" in part.why
    assert choose_backends(Ask())[0] == ["gloo"]


@pytest.mark.parametrize("ask", [Ask(ranks=1), Ask(ranks=65), Ask(device="tpu")])
def test_ranks_and_devices_that_cannot_be_are_refused(ask: Ask) -> None:
    with pytest.raises(UserError):
        choose_backends(ask)


@pytest.mark.gpu
def test_nccl_sums_rightly_between_gpus() -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip(f"{torch.cuda.device_count()} GPU; an exchange takes two")
    part = bench_sync(Ask(quick=True, device="cuda"), lambda done, total, note="": None)
    assert part.status == "measured"
    assert part.measure("all-reduce-nccl-256-MiB") is not None

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from filmgate.diagnose import Verdict, diagnose
from filmgate.errors import UserError
from filmgate.records import digest_file, read_record, write_record
from filmgate.records.telemetry import AnyLine, FeedSnapshot, Start, Step
from tests.diagnose.synthetic import (
    COMPUTE_BOUND,
    CONVERT_BOUND,
    DATA_BOUND,
    SAVE_BOUND,
    Setup,
    resumed,
    simulate,
    with_each_step,
    write_run,
)
from tests.patience import PATIENT_SECONDS


def judged(folder: Path, lines: list[AnyLine]) -> Verdict:
    return diagnose(write_run(folder, lines))


def evidence(verdict: Verdict, name: str) -> str:
    return next(row.says for row in verdict.evidence if row.name == name)


def test_a_run_that_waits_for_the_decoder_is_data_bound_by_decode(tmp_path: Path) -> None:
    verdict = judged(tmp_path, simulate(DATA_BOUND))
    assert (verdict.bound, verdict.limiting_stage, verdict.confidence) == ("data", "decode", "high")
    rates = verdict.rates
    assert rates.supply_clips_per_second == pytest.approx(2 / 0.048, rel=0.05)
    assert rates.demand_clips_per_second == pytest.approx(8 / 0.067, rel=0.05)
    assert rates.delivered_clips_per_second == pytest.approx(2 / 0.048, rel=0.05)
    assert rates.frames_decoded_per_frame_delivered == pytest.approx(6)
    assert "64 %" in verdict.sentence
    assert "a finished batch lay ready at " in evidence(verdict, "queue")
    assert "6.0 frames decoded per frame delivered" in verdict.sentence
    assert verdict.change_first.startswith("Set limits.workers = 7 (now 2).")
    assert [remedy.kind for remedy in verdict.remedies] == ["setting", "copy"]


def test_a_run_that_waits_for_scaling_is_data_bound_by_convert(tmp_path: Path) -> None:
    verdict = judged(tmp_path, simulate(CONVERT_BOUND))
    assert (verdict.bound, verdict.limiting_stage) == ("data", "convert")
    assert verdict.stages[0].seconds_per_clip == pytest.approx(0.050, rel=0.05)


def test_a_healthy_run_is_compute_bound_and_wants_no_faster_feed(tmp_path: Path) -> None:
    verdict = judged(tmp_path, simulate(COMPUTE_BOUND))
    assert (verdict.bound, verdict.confidence) == ("compute", "high")
    assert verdict.accelerator_utilisation == pytest.approx(0.244 / 0.247, abs=0.01)
    assert {remedy.kind for remedy in verdict.remedies} == {"hardware"}
    gain = verdict.remedies[0].gain_high
    period = 8 / (verdict.rates.supply_clips_per_second or 0)
    assert gain == pytest.approx(1 - period / (verdict.step_seconds_mean or 0), abs=0.01)


def test_a_run_that_saves_too_often_is_bound_by_saving(tmp_path: Path) -> None:
    verdict = judged(tmp_path, simulate(SAVE_BOUND))
    assert verdict.bound == "saving"
    assert verdict.remedies[0].action == "set train.commit_every_steps to 8 times what it is"
    assert verdict.remedies[0].gain_high == pytest.approx(0.29 * 7 / 8, abs=0.01)
    assert verdict.remedies[0].costs == "a kill loses up to 8 times as much work"


def test_rarer_saves_gain_what_was_foretold(tmp_path: Path) -> None:
    setup = replace(SAVE_BOUND, steps=200, jitter=0.0)
    before = judged(tmp_path / "before", simulate(setup))
    times = 8
    after = judged(tmp_path / "after", simulate(replace(setup, save_every=5 * times)))
    assert gain(before, after) == pytest.approx(before.remedies[0].gain_high, abs=0.02)


@pytest.mark.parametrize("setup", [DATA_BOUND, CONVERT_BOUND, replace(DATA_BOUND, seed=4)])
def test_more_workers_gain_what_was_foretold(tmp_path: Path, setup: Setup) -> None:
    before = judged(tmp_path / "before", simulate(setup))
    remedy = before.remedies[0]
    workers = int(remedy.action.split()[3])
    after = judged(tmp_path / "after", simulate(replace(setup, workers=workers)))
    assert remedy.gain_low - 0.03 <= gain(before, after) <= remedy.gain_high + 0.03


def test_workers_instead_of_none_gain_what_was_foretold(tmp_path: Path) -> None:
    setup = replace(DATA_BOUND, workers=0)
    before = judged(tmp_path / "before", simulate(setup))
    remedy = before.remedies[0]
    assert remedy.action == "set limits.workers = 7 (now 0)"
    after = judged(tmp_path / "after", simulate(replace(setup, workers=7)))
    assert remedy.gain_low - 0.03 <= gain(before, after) <= remedy.gain_high + 0.03


@pytest.mark.parametrize("workers", [0, 2])
def test_a_training_copy_gains_what_was_foretold(tmp_path: Path, workers: int) -> None:
    setup = replace(DATA_BOUND, workers=workers)
    before = judged(tmp_path / "before", simulate(setup))
    remedy = next(remedy for remedy in before.remedies if remedy.kind == "copy")
    cheaper = {"open": 0.002, "decode": 0.040 * 2 / 6 * 0.8, "convert": 0.002}
    after = judged(tmp_path / "after", simulate(replace(setup, stage_seconds=cheaper)))
    assert remedy.gain_low - 0.03 <= gain(before, after) <= remedy.gain_high + 0.03


def gain(before: Verdict, after: Verdict) -> float:
    assert before.step_seconds_mean
    assert after.step_seconds_mean
    return 1 - after.step_seconds_mean / before.step_seconds_mean


def test_a_copy_that_takes_most_of_the_step_is_bound_by_transfer(tmp_path: Path) -> None:
    verdict = judged(tmp_path, simulate(replace(COMPUTE_BOUND, transfer=0.100)))
    assert verdict.bound == "transfer"
    assert verdict.remedies[0].gain_high == pytest.approx(0.29, abs=0.01)


def test_a_short_run_cannot_be_judged_and_says_how_long_it_must_be(tmp_path: Path) -> None:
    verdict = judged(tmp_path, simulate(replace(DATA_BOUND, steps=12)))
    assert verdict.bound == "cannot say"
    assert "9 steps count after warm-up, and 20 are needed" in verdict.sentence
    assert verdict.what_would_tell == "run at least 30 steps without a change of settings"
    assert verdict.remedies == []
    assert verdict.accelerator_utilisation is not None


def test_a_run_without_a_step_is_unknown_everywhere(tmp_path: Path) -> None:
    verdict = judged(tmp_path, simulate(DATA_BOUND)[:1])
    assert verdict.bound == "cannot say"
    assert verdict.accelerator_utilisation is None
    assert verdict.step_seconds_mean is None
    assert verdict.rates.demand_clips_per_second is None
    assert verdict.rates.supply_reason == "no step counts"
    assert verdict.budget == []


def test_a_run_that_never_started_is_unknown_and_no_error(tmp_path: Path) -> None:
    verdict = judged(tmp_path, [])
    assert (verdict.bound, verdict.device, verdict.attempts) == ("cannot say", None, 0)


def test_a_resumed_run_counts_each_step_once(tmp_path: Path) -> None:
    verdict = judged(tmp_path, resumed(DATA_BOUND, killed_after=37, resumed_from=25))
    assert (verdict.bound, verdict.attempts, verdict.finished) == ("data", 2, True)
    left_out = {some.reason: some.steps for some in verdict.steps_left_out}
    assert left_out["done again after a resume"] == 12
    assert verdict.steps_counted + sum(left_out.values()) == 80 + 12
    assert verdict.rates.supply_clips_per_second == pytest.approx(2 / 0.048, rel=0.05)


def test_an_attempt_with_other_settings_is_not_mixed_in(tmp_path: Path) -> None:
    slow = simulate(replace(DATA_BOUND, steps=30, finish=False))
    later = slow[-1].unix_seconds + 60
    fast = replace(DATA_BOUND, attempt=1, first_step=31, workers=8, begin=later)
    verdict = judged(tmp_path, slow + simulate(fast))
    assert verdict.bound == "compute"
    assert verdict.num_workers == 8
    left_out = {some.reason: some.steps for some in verdict.steps_left_out}
    assert left_out["run with another setup than the newest"] == 30


def test_a_torn_last_line_is_passed_over(tmp_path: Path) -> None:
    folder = write_run(tmp_path, simulate(replace(DATA_BOUND, finish=False)))
    whole = diagnose(folder)
    with (folder / "telemetry.jsonl").open("ab") as file:
        file.write(b'{"kind":"step","unix_sec')
    torn = diagnose(folder)
    assert torn.sentence == whole.sentence
    assert torn.header.inputs != whole.header.inputs
    assert not torn.finished


def test_without_workers_the_training_process_is_named_as_the_reader(tmp_path: Path) -> None:
    verdict = judged(tmp_path, simulate(replace(DATA_BOUND, workers=0)))
    assert verdict.bound == "data"
    assert "because the training process decodes itself" in verdict.sentence
    assert verdict.rates.supply_clips_per_second == pytest.approx(1 / 0.048, rel=0.05)
    assert verdict.rates.worker_busy_share is None
    assert verdict.rates.supply_reason


def test_slow_single_clips_ask_for_a_longer_queue_and_not_for_workers(tmp_path: Path) -> None:
    setup = replace(COMPUTE_BOUND, slow_clip_every=60, prefetch_batches=1)
    verdict = judged(tmp_path, simulate(setup))
    assert (verdict.bound, verdict.confidence) == ("data", "medium")
    assert [remedy.action for remedy in verdict.remedies] == ["double limits.prefetch_batches"]
    assert any(row.supports is False for row in verdict.evidence)
    longer = judged(tmp_path / "longer", simulate(replace(setup, prefetch_batches=2)))
    assert 0 <= gain(verdict, longer) <= verdict.remedies[0].gain_high


def test_workers_that_share_their_cores_with_the_trainer_are_said_to(tmp_path: Path) -> None:
    shared = replace(DATA_BOUND, device="cpu", cores=2, train_threads=2)
    verdict = judged(tmp_path, simulate(shared))
    assert (verdict.bound, verdict.confidence) == ("data", "medium")
    assert "on cores shared with the trainer" in verdict.sentence
    assert "they slow each other down" in evidence(verdict, "cores")
    assert not any("limits.workers" in remedy.action for remedy in verdict.remedies)


def test_unknown_cores_are_said_to_be_unknown(tmp_path: Path) -> None:
    verdict = judged(tmp_path, simulate(replace(DATA_BOUND, cores=None, train_threads=None)))
    assert "unknown" in evidence(verdict, "cores")
    assert verdict.remedies[0].gain_low == 0
    assert "if the machine has" in verdict.remedies[0].action


def test_workers_that_hardly_compute_are_waiting_for_storage(tmp_path: Path) -> None:
    verdict = judged(tmp_path, simulate(replace(DATA_BOUND, cpu_share=0.2)))
    assert verdict.remedies[0].action == "copy the videos to a local disk before training"
    assert "the rest they waited for storage" in evidence(verdict, "disk or processor")


def test_waiting_while_batches_lie_ready_is_a_contradiction(tmp_path: Path) -> None:
    lines = with_each_step(
        simulate(DATA_BOUND), lambda step: msgspec.structs.replace(step, feed_queue_batches=3)
    )
    verdict = judged(tmp_path, lines)
    assert verdict.bound == "cannot say"
    assert "whose batch lay finished in the queue" in verdict.sentence
    assert "workers = 0" in (verdict.what_would_tell or "")


def test_parts_longer_than_their_step_are_a_contradiction(tmp_path: Path) -> None:
    lines = with_each_step(
        simulate(DATA_BOUND),
        lambda step: msgspec.structs.replace(step, forward_seconds=step.total_seconds),
    )
    verdict = judged(tmp_path, lines)
    assert verdict.bound == "cannot say"
    assert "more than the steps" in verdict.sentence


def test_time_in_no_part_is_not_blamed_on_any(tmp_path: Path) -> None:
    verdict = judged(tmp_path, simulate(replace(COMPUTE_BOUND, other=0.2)))
    assert verdict.bound == "cannot say"
    assert "in none of the measured parts" in verdict.sentence


def test_a_run_that_changes_halfway_is_judged_with_low_confidence(tmp_path: Path) -> None:
    first = simulate(replace(DATA_BOUND, steps=40, finish=False))
    later = first[-1].unix_seconds
    quick = {"open": 0.001, "decode": 0.002, "convert": 0.001}
    second = replace(DATA_BOUND, attempt=1, first_step=41, begin=later, stage_seconds=quick)
    verdict = judged(tmp_path, first + simulate(second))
    assert verdict.confidence == "low"
    assert "disagree" in evidence(verdict, "steady")


def test_without_feed_counters_the_supply_is_unknown_with_a_reason(tmp_path: Path) -> None:
    lines = [line for line in simulate(DATA_BOUND) if not isinstance(line, FeedSnapshot)]
    verdict = judged(tmp_path, lines)
    assert verdict.bound == "data"
    assert verdict.rates.supply_clips_per_second is None
    assert verdict.rates.supply_reason == "the telemetry holds no feed counters"
    assert verdict.limiting_stage is None
    assert "unknown" in verdict.sentence


def test_evaluation_is_told_apart_from_training(tmp_path: Path) -> None:
    without = judged(tmp_path / "without", simulate(COMPUTE_BOUND))
    verdict = judged(tmp_path / "with", simulate(replace(COMPUTE_BOUND, evaluate_every=20)))
    part = verdict.budget[-1]
    assert (part.name, part.count, part.share_of_training) == ("evaluation", 4, None)
    assert part.total_seconds == pytest.approx(2.0)
    assert verdict.accelerator_utilisation == pytest.approx(without.accelerator_utilisation)


def test_skipped_clips_are_those_of_the_run_where_the_telemetry_says_so(tmp_path: Path) -> None:
    lines = [
        msgspec.structs.replace(line, skipped_in_run=7) if isinstance(line, FeedSnapshot) else line
        for line in simulate(replace(DATA_BOUND, skip_every=50))
    ]
    assert judged(tmp_path, lines).skipped_clips == 7


def test_skipped_clips_of_older_telemetry_are_added_up_over_attempts(tmp_path: Path) -> None:
    setup = replace(DATA_BOUND, skip_every=50)
    lines = resumed(setup, killed_after=37, resumed_from=25)
    newest = {line.attempt: line.skipped for line in lines if isinstance(line, FeedSnapshot)}
    assert judged(tmp_path, lines).skipped_clips == sum(newest.values()) > 0


def test_a_rank_of_many_speaks_for_all_ranks(tmp_path: Path) -> None:
    lines = simulate(DATA_BOUND)
    start = lines[0]
    assert isinstance(start, Start)
    lines[0] = msgspec.structs.replace(start, world_size=4, batch_size=32)
    verdict = judged(tmp_path, lines)
    assert verdict.rates.supply_clips_per_second == pytest.approx(4 * 2 / 0.048, rel=0.05)
    assert verdict.rates.delivered_clips_per_second == pytest.approx(4 * 2 / 0.048, rel=0.05)
    assert verdict.rates.cores_wanted is None


def test_a_verdict_is_a_file_that_reads_back(tmp_path: Path) -> None:
    folder = write_run(tmp_path, simulate(DATA_BOUND))
    verdict = diagnose(folder)
    write_record(folder / "verdict.json", verdict)
    assert read_record(folder / "verdict.json", Verdict) == verdict
    digest = digest_file(folder / "telemetry.jsonl")
    assert verdict.header.inputs == {"telemetry": digest}


def test_a_folder_without_telemetry_is_the_users_fault(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        diagnose(tmp_path)


def test_steps_in_no_attempt_with_a_start_line_do_not_count(tmp_path: Path) -> None:
    lines = [line for line in simulate(DATA_BOUND) if isinstance(line, Step)]
    verdict = judged(tmp_path, list(lines))
    assert (verdict.bound, verdict.steps_counted) == ("cannot say", 0)


def test_diagnose_needs_no_heavy_library() -> None:
    code = (
        "import sys, filmgate.diagnose;"
        "heavy = {'torch', 'numpy', 'av', 'pyarrow', 'matplotlib'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENT_SECONDS)

"""The requirements of training, each with the tests that hold it."""

from __future__ import annotations

from benchmarks.acceptance.proofs import Proof, check_of

TRAIN = "tests/train"

REQUIREMENTS = (
    Proof(
        name="T-commit",
        says="200 kills at random moments, in and around saves, leave the newest commit loadable.",
        tests=(
            f"{TRAIN}/test_commits.py",
            f"{TRAIN}/test_kill.py",
            f"{TRAIN}/test_kills.py::test_two_hundred_kills_in_and_around_saves_lose_no_commit",
        ),
    ),
    Proof(
        name="T-damage",
        says="A flipped or missing byte in a commit is found before it reaches the model; the one "
        "before is used, the bad one kept aside.",
        tests=(
            f"{TRAIN}/test_run.py::test_a_damaged_commit_is_kept_aside_and_the_one_before_is_used",
            f"{TRAIN}/test_run.py::test_when_every_commit_is_damaged_the_run_begins_anew_and_says_so",
        ),
    ),
    Proof(
        name="T-signal",
        says="A signal ends in a commit and a code of its own; a signal to one rank stops all at "
        "the same step; a second signal stops at once.",
        tests=(
            f"{TRAIN}/test_signals.py",
            f"{TRAIN}/test_run.py::test_a_run_stopped_by_signals_ends_like_one_that_was_not",
            f"{TRAIN}/test_run.py::test_a_second_signal_stops_at_once_without_a_commit",
            f"{TRAIN}/test_launch.py::"
            "test_a_signal_to_one_rank_stops_all_at_the_same_step_with_a_commit",
        ),
    ),
    Proof(
        name="T-async",
        says="What a save in the background writes is the state at the save, and 200 of them do "
        "not grow memory.",
        tests=(
            f"{TRAIN}/test_saver.py::test_what_is_written_is_the_state_at_the_save",
            f"{TRAIN}/test_saver.py::test_many_saves_in_the_background_hold_one_copy_of_the_state",
        ),
    ),
    Proof(
        name="T-full",
        says="Training goes on over saves that fail, to a stated limit; old commits stay; a folder "
        "for commits on the videos' device is refused, or allowed and recorded.",
        tests=(
            f"{TRAIN}/test_saver.py::test_training_goes_on_over_saves_that_fail_and_old_commits_stay",
            f"{TRAIN}/test_saver.py::test_too_many_failures_in_a_row_end_the_run",
            f"{TRAIN}/test_saver.py::test_a_commit_that_does_not_fit_is_not_begun",
            f"{TRAIN}/test_commit_place.py",
        ),
    ),
    Proof(
        name="T-dead",
        says="A dead rank takes the others along, and all start again from the commit.",
        tests=(
            f"{TRAIN}/test_launch.py::"
            "test_a_rank_that_dies_takes_the_others_along_and_all_start_again",
        ),
    ),
    Proof(
        name="T-environment",
        says="Ranks compare environments; one that can change results stops the launch, by name.",
        tests=(f"{TRAIN}/test_same_environment.py",),
    ),
    Proof(
        name="curves",
        says="Two ranks with DDP and with FSDP2, micro-batches, and 2, 1 and 2 ranks in turn have "
        "the samples of one rank and its losses within 0.2 %.",
        tests=(
            f"{TRAIN}/test_launch.py::test_two_ranks_train_on_the_samples_of_one_and_to_its_losses",
            f"{TRAIN}/test_launch.py::test_a_run_goes_on_with_other_numbers_of_ranks",
            f"{TRAIN}/test_launch.py::test_torchrun_starts_the_same_ranks",
            f"{TRAIN}/test_update.py::test_micro_batches_give_the_losses_of_the_whole_batch",
        ),
    ),
)

TRAIN_CHECKS = [
    check_of(proof, topic="Training", name=f"train-{proof.name.removeprefix('T-').lower()}")
    for proof in REQUIREMENTS
]

"""Staging, each condition with the tests that hold it."""

from __future__ import annotations

from benchmarks.acceptance.proofs import Proof, check_of

ROOM = "tests/stage"
FILES, STORE = f"{ROOM}/test_stage.py", f"{ROOM}/test_object_store.py"
DAMAGE = f"{ROOM}/test_damage.py"
KILL, EVICT, READERS = f"{ROOM}/test_kill.py", f"{ROOM}/test_evict.py", f"{ROOM}/test_readers.py"

CONDITIONS = (
    Proof(
        name="S-verify",
        says="A copy counts once its content was read back and is the catalog's; damage at the "
        "source, on the way and on the disk is found.",
        tests=(
            f"{FILES}::test_every_video_is_hot_with_the_content_of_its_source",
            f"{STORE}::test_a_bucket_is_staged_as_it_was_indexed",
            f"{STORE}::test_a_byte_that_is_flipped_on_the_way_does_not_count_as_a_copy",
            f"{STORE}::test_an_object_of_other_content_stays_cold",
            f"{DAMAGE}::test_a_damaged_source_stays_cold",
            f"{DAMAGE}::test_a_byte_that_the_disk_loses_before_publication_costs_its_chunk",
            f"{READERS}::test_a_byte_that_went_bad_on_disk_is_found_by_a_check",
        ),
    ),
    Proof(
        name="S-verify-95",
        says="A copy that is killed at 95 % asks for one chunk again at most.",
        tests=(
            f"{KILL}::test_a_copy_that_is_killed_at_95_percent_asks_for_one_chunk_again_at_most",
        ),
    ),
    Proof(
        name="S-verify-change",
        says="A source that changes meanwhile never mixes.",
        tests=(
            f"{STORE}::test_an_object_that_changes_meanwhile_never_mixes",
            f"{DAMAGE}::test_a_source_that_is_replaced_meanwhile_never_mixes",
            f"{DAMAGE}::test_a_range_of_a_file_that_changed_is_refused_at_its_end",
        ),
    ),
    Proof(
        name="S-verify-slow",
        says="A slow transfer that moves never times out; one that stands still is begun anew.",
        tests=(
            f"{STORE}::test_a_slow_transfer_that_moves_goes_to_its_end",
            f"{STORE}::test_a_transfer_that_stands_still_is_begun_anew",
            f"{STORE}::test_connections_that_are_cut_cost_their_chunk_and_no_more",
        ),
    ),
    Proof(
        name="S-safe",
        says="Eviction never removes the only copy or a file in use.",
        tests=(EVICT,),
    ),
    Proof(
        name="S-safe-80",
        says="80 readers that start while a file is being staged see no partial file.",
        tests=(
            f"{READERS}::test_80_readers_that_start_while_files_are_staged_see_no_partial_file",
        ),
    ),
    Proof(
        name="S-kill",
        says="kill -9 at 20 random times: the same files as without, nothing published twice.",
        tests=(f"{KILL}::test_twenty_kills_at_random_times_change_nothing",),
    ),
    Proof(
        name="S-full",
        says="A full disk stops staging with nothing half written, and it goes on from there.",
        tests=(
            f"{DAMAGE}::test_a_disk_that_is_too_small_is_said_before_anything_is_fetched",
            f"{DAMAGE}::test_a_disk_that_fills_up_stops_it_and_it_goes_on_from_there",
            f"{DAMAGE}::test_a_file_size_limit_leaves_the_file_cold_and_nothing_half",
        ),
    ),
    Proof(
        name="S-tiers",
        says="Hot and cold are one catalog to the feed; a run starts on the first part.",
        tests=(
            f"{READERS}::test_hot_and_cold_give_the_same_batches_and_the_feed_counts_both",
            f"{READERS}::"
            "test_a_run_starts_on_the_first_part_of_its_epoch_while_the_store_gives_the_rest",
            f"{READERS}::test_a_hot_file_that_was_written_to_is_passed_over_for_the_cold_one",
        ),
    ),
)

STAGE_CHECKS = [
    check_of(proof, topic="Staging", name=f"stage-{proof.name.lower()}") for proof in CONDITIONS
]

"""The requirements of the feed, each with the tests that hold it."""

from __future__ import annotations

from benchmarks.acceptance.proofs import Proof, check_of

VIDEO, FEED, CATALOG = "tests/video", "tests/feed", "tests/catalog"

REQUIREMENTS = (
    Proof(
        name="F-exact",
        says="Any request in any order equals the frames of one sequential decode, bit for bit.",
        tests=(
            f"{VIDEO}/test_exact.py",
            f"{VIDEO}/test_digest.py",
            f"{VIDEO}/test_spare.py",
            f"{VIDEO}/test_random_lists.py::test_a_few_lists_of_the_corpus_are_exact",
            f"{VIDEO}/test_random_lists.py::test_a_few_lists_of_every_quirk_are_exact",
            f"{VIDEO}/test_random_lists.py::test_lists_of_a_long_video_are_exact",
            f"{VIDEO}/test_random_lists.py::test_requests_read_in_turns_are_exact",
            f"{FEED}/test_feed.py::test_every_frame_is_the_one_that_the_batch_says_it_is",
        ),
    ),
    Proof(
        name="F-start",
        says="Frame 0 is the first displayed frame and time 0 is its time, wherever a file starts.",
        tests=(f"{VIDEO}/test_start.py",),
    ),
    Proof(
        name="F-vfr",
        says="A time finds the frame shown at it, at constant and at variable rate.",
        tests=(
            f"{VIDEO}/test_table.py",
            f"{FEED}/test_feed.py::test_clips_by_rate_take_frames_by_time",
        ),
    ),
    Proof(
        name="F-end",
        says="The number of frames is the number that can be decoded, whatever the header says.",
        tests=(
            f"{VIDEO}/test_probe.py::"
            "test_a_header_that_promises_too_much_gives_the_true_count_at_once",
            f"{VIDEO}/test_probe.py::test_packets_that_show_nothing_are_no_frames",
            f"{FEED}/test_corrupt.py::"
            "test_a_file_with_its_end_cut_off_has_the_frames_that_are_left",
        ),
    ),
    Proof(
        name="F-process",
        says="A reader works in a forked and in a spawned child; nothing hangs at an exit.",
        tests=(
            f"{VIDEO}/test_reader.py::test_a_pickled_reader_works",
            f"{VIDEO}/test_reader.py::test_a_reader_that_was_open_before_a_fork_works_on_both_sides",
            f"{VIDEO}/test_reader.py::test_a_reader_can_be_given_to_a_spawned_process",
            f"{VIDEO}/test_reader.py::test_leaving_a_loop_early_starts_no_thread_and_keeps_no_file",
            f"{FEED}/test_faults.py::test_a_killed_consumer_takes_its_workers_with_it",
            f"{FEED}/test_faults.py::test_a_program_ends_by_itself_with_a_feed_left_open",
            f"{FEED}/test_faults.py::test_a_forked_child_leaves_the_parents_workers_alone",
            f"{FEED}/test_faults.py::test_ctrl_c_during_a_wait_leaves_the_feed_usable",
        ),
    ),
    Proof(
        name="F-hang",
        says="No wait is without a deadline: what passes it is given up, and the run goes on.",
        tests=(
            f"{FEED}/test_never_returns.py",
            f"{FEED}/test_faults.py::test_a_worker_that_hangs_is_given_up_and_its_video_left_out",
            f"{FEED}/test_faults.py::test_a_clip_past_its_deadline_is_given_up_without_workers_too",
            f"{FEED}/test_faults.py::test_workers_that_cannot_start_are_said_with_their_cause",
            f"{FEED}/test_line.py::test_a_line_in_which_nothing_happens_raises_after_its_patience",
            "tests/work/test_jobs.py::"
            "test_an_item_past_its_deadline_is_given_up_and_the_rest_goes_on",
        ),
    ),
    Proof(
        name="F-reuse",
        says="What is kept between frames is keyed by everything that changes its result.",
        tests=(
            f"{FEED}/test_picture.py::test_a_reused_scaler_gives_what_a_fresh_one_gives",
            f"{FEED}/test_picture.py::test_a_turned_video_is_delivered_upright_at_its_turned_size",
            f"{FEED}/test_feed.py::test_a_batch_keeps_its_memory_while_the_feed_goes_on",
            f"{VIDEO}/test_reader.py::test_frames_keep_their_own_memory",
            f"{VIDEO}/test_reader.py::test_the_same_request_a_hundred_times_gives_the_same_bits",
        ),
    ),
    Proof(
        name="F-bounded",
        says="Memory and open files reach a plateau over 10 000 opens, with 64 open files, and "
        "while the consumer sleeps.",
        tests=(
            f"{FEED}/test_bounded.py",
            f"{FEED}/test_open_videos.py",
            f"{FEED}/test_scale.py::test_memory_is_flat_over_ten_thousand_opens",
            f"{FEED}/test_faults.py::test_memory_stays_flat_while_the_consumer_sleeps",
            f"{FEED}/test_faults.py::test_open_files_stay_below_the_limit_over_many_videos",
            f"{FEED}/test_feed.py::test_ready_batches_fill_up_to_the_prefetch_and_no_further",
        ),
    ),
    Proof(
        name="F-corrupt",
        says="Bad files follow the chosen rule, counted and listed, never a neighbouring frame.",
        tests=(
            f"{FEED}/test_corrupt.py",
            f"{FEED}/test_fuzz.py::test_hurt_files_give_typed_errors_or_exact_frames",
            f"{FEED}/test_fuzz.py::test_a_jpeg_that_does_not_fill_its_picture_shows_no_older_one",
            f"{FEED}/test_faults.py::test_a_damaged_video_is_replaced_by_rule_and_listed",
            f"{FEED}/test_faults.py::test_a_damaged_video_leaves_a_masked_place_with_skip",
            f"{FEED}/test_faults.py::test_a_damaged_video_raises_with_raise",
            f"{VIDEO}/test_damage.py",
            f"{VIDEO}/test_probe.py::test_an_unusable_file_is_refused_with_its_reason",
            f"{CATALOG}/test_index.py::test_unusable_files_are_left_out_with_their_reason",
        ),
    ),
    Proof(
        name="F-colour",
        says="Every matrix, range, chroma and depth is within 2 of 255 of the formula (here on "
        "CPU; `make test-gpu` for the GPU).",
        tests=(f"{FEED}/test_picture.py", f"{FEED}/test_yuv.py"),
    ),
    Proof(
        name="F-shape",
        says="Turned before resized, at the reported size; odd pixels, fields and sizes that "
        "change are reported and handled.",
        tests=(
            f"{FEED}/test_geometry.py",
            f"{FEED}/test_clip_reader.py::test_a_turned_video_is_read_upright",
            f"{FEED}/test_clip_reader.py::test_a_size_change_on_the_way_fills_the_same_window",
            f"{FEED}/test_clip_reader.py::test_odd_sizes_and_deep_samples_are_read",
            f"{FEED}/test_picture.py::test_wide_pixels_are_made_square",
            f"{FEED}/test_picture.py::test_clockwise_is_clockwise",
            f"{FEED}/test_picture.py::test_no_width_from_1_to_70_has_garbage_columns",
            f"{VIDEO}/test_probe.py::test_the_display_matrix_is_a_clockwise_turn_after_a_flip",
            f"{VIDEO}/test_probe.py::test_fields_are_told_with_their_order",
        ),
    ),
    Proof(
        name="F-short",
        says="A clip longer than its video follows the chosen rule and is counted.",
        tests=(
            f"{CATALOG}/test_order.py::"
            "test_a_clip_longer_than_its_video_follows_the_rule_and_says_so",
            f"{CATALOG}/test_order.py::test_short_raise_names_the_count_and_the_first_row",
            f"{CATALOG}/test_order.py::test_short_raise_by_rate_raises_when_the_clip_is_drawn",
            f"{FEED}/test_feed.py::test_clips_longer_than_their_video_are_padded_and_counted",
            f"{VIDEO}/test_table.py::test_a_video_of_exactly_the_clip_length_is_long_enough",
        ),
    ),
    Proof(
        name="F-resume",
        says="After kill -9 at any step, with other workers and ranks, exactly the rest follows, "
        "at once from any position.",
        tests=(
            f"{FEED}/test_resume_after_kill.py",
            f"{FEED}/test_feed.py::test_a_resumed_feed_goes_on_with_exactly_the_rest",
            f"{FEED}/test_feed.py::test_leaving_a_loop_early_and_coming_back_loses_no_batch",
            f"{FEED}/test_ahead.py::test_a_feed_that_looks_ahead_resumes_exactly_with_and_without",
            f"{FEED}/test_division.py::test_a_resume_with_another_world_size_takes_the_rest",
            f"{FEED}/test_scale.py::test_a_million_videos_open_at_once_and_resume_anywhere",
            f"{CATALOG}/test_order.py::"
            "test_a_run_resumed_at_any_sample_sees_the_rest_of_an_uninterrupted_one",
        ),
    ),
    Proof(
        name="F-ranks",
        says="All ranks have the same number of batches for any samples, ranks and workers.",
        tests=(
            f"{FEED}/test_division.py",
            f"{FEED}/test_feed.py::test_ranks_divide_each_batch",
            f"{FEED}/test_feed.py::"
            "test_the_last_batch_of_a_finite_list_is_filled_up_with_masked_clips",
        ),
    ),
    Proof(
        name="F-cost",
        says="Decoded frames per delivered frame are reported; Matroska costs what MP4 costs; a "
        "known video is not indexed again.",
        tests=(
            f"{VIDEO}/test_opening_cost.py",
            f"{VIDEO}/test_reader.py::test_matroska_decodes_no_more_frames_than_mp4",
            f"{VIDEO}/test_reader.py::test_a_far_jump_decodes_only_its_own_interval",
            f"{FEED}/test_feed.py::test_the_feed_counts_what_it_did",
            f"{FEED}/test_bench.py::test_costs_add_up",
        ),
    ),
    Proof(
        name="F-verdict",
        says="One line says what bounds a run, by which stage, and what to change; supply and "
        "ceiling are measured apart.",
        tests=("tests/diagnose", f"{FEED}/test_bench.py"),
    ),
    Proof(
        name="F-leftovers",
        says="A killed run leaves nothing that stops the next one; memory that is too small is "
        "said before the start.",
        tests=(
            f"{FEED}/test_resume_after_kill.py::"
            "test_a_feed_killed_at_random_steps_goes_on_with_the_rest",
            f"{FEED}/test_faults.py::test_a_killed_consumer_takes_its_workers_with_it",
            f"{FEED}/test_faults.py::"
            "test_closing_a_feed_ends_its_workers_at_once_and_leaves_no_file_open",
            f"{FEED}/test_feed.py::test_memory_that_is_not_there_is_said_before_the_start",
            f"{FEED}/test_frame_store.py::test_workers_find_the_store_without_a_name_in_dev_shm",
            f"{FEED}/test_ahead.py::"
            "test_a_cache_that_memory_cannot_hold_is_refused_before_the_start",
        ),
    ),
)

REQUIREMENT_CHECKS = [
    check_of(proof, topic="Requirements of the feed", name=proof.name.lower())
    for proof in REQUIREMENTS
]

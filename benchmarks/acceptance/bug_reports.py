"""The kinds of fault that people reported of video loaders, each with the files and tests here.

Numbers are those of the collection that the requirements were learnt from. Every file named is
also read in any order, in a few lists and in 500 random lists (``tests/video/test_exact.py``,
``tests/video/test_random_lists.py``).
"""

from __future__ import annotations

from benchmarks.acceptance.check import Outcome, check
from benchmarks.acceptance.place import Place
from benchmarks.acceptance.proofs import Proof, run_tests

EXACT = "tests/video/test_exact.py::test_every_quirk_is_exact_in_any_order"
LISTS = "tests/video/test_random_lists.py::test_a_few_lists_of_every_quirk_are_exact"
START = "tests/video/test_start.py"
PROBE = "tests/video/test_probe.py"
READER = "tests/video/test_reader.py"
TABLE = "tests/video/test_table.py"
PICTURE = "tests/feed/test_picture.py"
FAULTS = "tests/feed/test_faults.py"
CORRUPT = "tests/feed/test_corrupt.py"
BOUNDED = "tests/feed/test_bounded.py"


def _report(
    number: int, says: str, files: tuple[str, ...] = (), tests: tuple[str, ...] = (EXACT, LISTS)
) -> Proof:
    return Proof(name=str(number), says=says, files=files, tests=tests)


BUG_REPORTS = (
    _report(
        1, "lead-in behind an edit list (R01)", ("r01", "r01_late"),
        (EXACT, f"{START}::test_frame_0_is_the_first_shown_and_time_0_is_its_time"),
    ),
    _report(
        2, "open groups: leading pictures before their key frame",
        ("hevc_open", "hevc_open_ts", "hevc_open_mp4", "hevc_cut_at_cra", "x264_open",
         "x264_open_ts", "x264_open_long"),
    ),
    _report(
        3, "a header that promises more frames than there are (R25, R09b)", ("r25", "r09b", "r01"),
        (f"{PROBE}::test_a_header_that_promises_too_much_gives_the_true_count_at_once",),
    ),
    _report(4, "AVI without times (R03)", ("r03", "r03_mpeg4", "still")),
    _report(
        5, "a decoder that came through a fork", (),
        (f"{READER}::test_a_reader_that_was_open_before_a_fork_works_on_both_sides",
         f"{FAULTS}::test_a_forked_child_leaves_the_parents_workers_alone"),
    ),
    _report(6, "seek by mean duration, trusted (R06; VP8)", ("r06", "vp8", "vp9_hidden")),
    _report(7, "index from the average rate (R06, R12)", ("r06", "r12")),
    _report(8, "a drained decoder that still gives an old frame (HEVC, groups of 3)",
            ("x265_groups_of_three",), (EXACT, f"{READER}::test_the_end_and_then_the_middle")),
    _report(9, "packed B-frames, empty AVI chunks (R25)", ("packed_b", "r25")),
    _report(10, "fifty clips joined: times from running sums", ("joined",)),
    _report(
        11, "nearest time with a tolerance (R06)", ("r06",),
        (f"{TABLE}::test_every_moment_of_an_interval_finds_its_frame",
         f"{TABLE}::test_before_the_first_and_from_the_end_on_no_frame_is_shown"),
    ),
    _report(
        12, "a stream that does not start at 0 (R12)",
        ("r12", "x264_late_start", "x264_late_start_mp4", "x264_negative_times"),
        (EXACT, START),
    ),
    _report(13, "variable rate refused or guessed (R06)", ("r06", "r06_cfr"),
            (f"{TABLE}::test_even_spacing_is_judged_with_the_rounding_of_the_time_base",
             f"{TABLE}::test_constant_and_variable_rate_copies_show_the_same_at_every_time")),
    _report(14, "grid rate in place of the average (R06)", ("r06",),
            (f"{PROBE}::test_the_corpus_says_what_is_known_of_it",)),
    _report(15, "the last frame but one; times through float32", (),
            (f"{TABLE}::test_times_that_passed_through_single_precision_still_find_their_frame",)),
    _report(16, "frames counted as int(fps x duration)", (),
            (f"{TABLE}::test_a_video_of_exactly_the_clip_length_is_long_enough",)),
    _report(17, "26 frames in a second of 25 (R00)", ("r00",),
            (f"{TABLE}::test_a_second_at_25_fps_holds_25_frames",)),
    _report(18, "a clip longer than its video (R20)", ("r20",),
            ("tests/catalog/test_order.py::"
             "test_a_clip_longer_than_its_video_follows_the_rule_and_says_so",
             "tests/feed/test_feed.py::test_clips_longer_than_their_video_are_padded_and_counted")),
    _report(19, "frames without their index and time", (),
            ("tests/feed/test_feed.py::test_every_frame_is_the_one_that_the_batch_says_it_is",
             f"{READER}::test_frames_carry_their_time")),
    _report(20, "cuts by stream copy at other than key frames (R00, R01)", ("r01", "r01_late")),
    _report(21, "one bad packet hides the rest (R10)", ("r10",),
            ("tests/video/test_damage.py::test_frames_behind_a_damaged_one_can_still_be_had",)),
    _report(22, "bad regions replaced in silence (R10)", ("r10",),
            ("tests/video/test_damage.py", CORRUPT)),
    _report(23, "damage that shifts indices, no last flush (R10, R09b)", ("r10", "r09b"),
            ("tests/video/test_damage.py::test_a_zeroed_stretch_costs_only_its_own_interval",
             f"{CORRUPT}::test_a_file_with_its_end_cut_off_has_the_frames_that_are_left")),
    _report(24, "empty, cut, soundless and mislabelled files (R09, R20)",
            ("r09", "r20_zero", "empty", "web_page", "audio_only", "picture_as_video"),
            (f"{PROBE}::test_an_unusable_file_is_refused_with_its_reason",
             f"{CORRUPT}::test_files_that_hold_no_video_are_left_out_with_their_reason")),
    _report(25, "other samples in place of a failing one, uncounted", (),
            (f"{FAULTS}::test_a_damaged_video_is_replaced_by_rule_and_listed",
             "tests/catalog/test_order.py::test_substitutes_reach_every_other_video",
             "tests/work/test_jobs.py::test_a_fault_of_the_program_is_raised")),
    _report(26, "a cut file accepted by its header (R09, R09b)", ("r09", "r09b"),
            (f"{PROBE}::test_an_unusable_file_is_refused_with_its_reason",
             f"{CORRUPT}::test_a_file_with_its_end_cut_off_has_the_frames_that_are_left")),
    _report(27, "scaler writes past its buffer; sizes in 32 bits (R15)", ("r15_vp9", "r15_444"),
            (f"{PICTURE}::test_no_width_from_1_to_70_has_garbage_columns",
             "tests/feed/test_feed.py::test_memory_that_is_not_there_is_said_before_the_start")),
    _report(28, "line stride taken as width (R15; 828 and 1294 wide)",
            ("r15_vp9", "r15_444", "x264_828_wide", "x264_1294_wide"),
            (EXACT, f"{PICTURE}::test_no_width_from_1_to_70_has_garbage_columns",
             "tests/video/test_digest.py::"
             "test_padding_at_the_end_of_rows_is_no_part_of_the_picture")),
    _report(29, "rotation ignored or the wrong way (R08)", ("r08",),
            (f"{PROBE}::test_the_display_matrix_is_a_clockwise_turn_after_a_flip",
             f"{PICTURE}::test_a_turned_video_is_delivered_upright_at_its_turned_size")),
    _report(30, "matrix and range ignored", ("x264_full_range",),
            (f"{PICTURE}::test_colours_are_within_two_levels_of_the_formula",
             f"{PICTURE}::test_a_frame_without_tags_is_bt601_and_limited_at_any_size",
             f"{PROBE}::test_colour_tags_are_read")),
    _report(31, "10 bits read as 8",
            ("x264_10_bits", "x265_10_bits", "x265_12_bits_444", "vp9_10_bits", "av1_10_bits"),
            (EXACT, f"{PICTURE}::test_colours_are_within_two_levels_of_the_formula")),
    _report(32, "conversion before the GPU decoder is done: `make test-gpu`", (), ()),
    _report(33, "a size that changes on the way (R13)", ("r13",),
            (EXACT,
             "tests/feed/test_clip_reader.py::test_a_size_change_on_the_way_fills_the_same_window",
             )),
    _report(34, "no duration and no count: streamed WebM, raw streams, fragments (R12)",
            ("vp9_streamed", "raw_h264", "raw_h265", "vp9_ivf", "r12",
             "x264_fragments_of_one_frame")),
    _report(35, "Matroska slower than MP4, index read again", (),
            (f"{READER}::test_matroska_decodes_no_more_frames_than_mp4",
             f"{READER}::test_frames_ahead_are_decoded_on_without_a_seek",
             "tests/video/test_opening_cost.py")),
    _report(36, "identical calls that differ; buffers used again too early", (),
            (f"{READER}::test_the_same_request_a_hundred_times_gives_the_same_bits",
             f"{READER}::test_frames_keep_their_own_memory",
             "tests/feed/test_feed.py::test_a_batch_keeps_its_memory_while_the_feed_goes_on")),
    _report(37, "memory climbs while the caller is idle", (),
            (f"{FAULTS}::test_memory_stays_flat_while_the_consumer_sleeps",)),
    _report(38, "decoders kept without a bound", (),
            ("tests/feed/test_open_videos.py", f"{BOUNDED}::"
             "test_64_open_files_are_enough_for_many_videos")),
    _report(39, "leaks of containers, whole videos in memory", (),
            (f"{READER}::test_a_long_run_up_to_a_frame_keeps_no_frame_of_it_in_memory",
             f"{READER}::test_leaving_a_loop_early_starts_no_thread_and_keeps_no_file")),
    _report(40, "every file kept open: 64 descriptors", (),
            (f"{BOUNDED}::test_64_open_files_are_enough_for_many_videos",
             f"{READER}::test_too_many_open_files_are_called_by_their_name")),
)  # fmt: skip


@check(
    name="bug-reports",
    topic="Requirements of the feed",
    line="Every kind of fault that was reported of video loaders is ruled out by a test on "
    "generated files.",
    bar="all that can run",
)
def bug_reports(place: Place) -> Outcome:
    return run_tests(place, sorted({test for one in BUG_REPORTS for test in one.tests})).outcome

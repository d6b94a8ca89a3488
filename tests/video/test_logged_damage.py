"""What a decoder only logs is damage; sound files log nothing; others get what they listen to."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import av
import av.logging
import pytest

from filmgate.errors import FilmgateError, UndecodableFrame
from filmgate.video import VideoReader, native_md5, probe
from filmgate.video.damage import OUR_LEVEL, SILENT, is_hurt_jpeg, listen, tells_error
from filmgate.video.decoder import Decoder
from filmgate.video.spare import may_leave_out
from filmgate.video.table import FIRST_PACKET
from tests.feed.hurt import KINDS, write_whole
from tests.footage import write_video
from tests.video import recipes
from tests.video.corpus import SOUND, needs_corpus
from tests.video.test_exact import needs_ffmpeg

LACKING = 4
"""Place of a packet of ``write_video`` that others refer to, in H.264 with two B pictures."""


@pytest.fixture(autouse=True)
def as_at_first() -> Iterator[None]:
    """PyAV's log as a new process has it, also after the test."""
    before = av.logging.get_level(), logging.getLogger("libav").level
    av.logging.set_level(None)
    logging.getLogger("libav").setLevel(logging.WARNING)
    yield
    av.logging.set_level(before[0])
    logging.getLogger("libav").setLevel(before[1])


@pytest.fixture(scope="module")
def lacking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A video without one of its packets; FFmpeg gives all other frames and says it in the log."""
    folder = tmp_path_factory.mktemp("lacking")
    whole = write_video(folder / "whole.mkv", num_frames=30, options={"threads": "1"})
    path = folder / "lacking.ts"
    with av.open(str(whole)) as source, av.open(str(path), "w") as target:
        stream = source.streams.video[0]
        copied = target.add_stream_from_template(stream)
        packets = (packet for packet in source.demux(stream) if packet.size)
        for place, packet in enumerate(packets):
            if place != LACKING:
                packet.stream = copied
                target.mux(packet)
    return path


def places_told(path: Path) -> list[int]:
    """Where a decode from the start, and from the first entry points, meets damage."""
    _, table = probe(path)
    decoder, told = Decoder(path, table), []
    for entry in (FIRST_PACKET, *range(min(6, len(table.entries.packet)))):
        decoder.start(entry)
        for _ in range(300 if entry == FIRST_PACKET else 20):
            if not decoder.ended:
                decoder.step()
        told += decoder.damaged
    decoder.close()
    return told


def read(path: Path, *, backwards: bool = False) -> dict[int, str | None]:
    """The digest of each frame, by its time; None for one that is refused."""
    facts, table = probe(path)
    got: dict[int, str | None] = {}
    with VideoReader(path, table, may_leave_out(facts)) as reader:
        for index in sorted(range(table.num_frames), reverse=backwards):
            try:
                frame = next(reader.frames([index]))[1]
                got[int(table.pts[index])] = native_md5(frame)
            except UndecodableFrame:
                got[int(table.pts[index])] = None
    return got


@pytest.mark.parametrize("name", KINDS)
def test_sound_files_tell_nothing(name: str, tmp_path: Path) -> None:
    write_whole(tmp_path, [name])
    assert places_told(tmp_path / name) == []


@needs_ffmpeg
@pytest.mark.parametrize("name", recipes.RECIPES)
def test_sound_quirks_tell_nothing(name: str, tmp_path: Path) -> None:
    assert places_told(recipes.RECIPES[name](tmp_path)) == []


@needs_corpus
@pytest.mark.slow
@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.name)
def test_the_sound_corpus_tells_nothing(path: Path) -> None:
    try:
        probe(path)
    except FilmgateError as error:
        pytest.skip(str(error))
    assert places_told(path) == []


def test_damage_that_is_only_logged_is_damage(lacking: Path) -> None:
    assert set(places_told(lacking)) == {6}
    facts, _ = probe(lacking)
    assert list(facts.damage) == ["packet 6: decoder error"]


def test_backwards_as_forwards_each_frame_is_that_of_a_sequential_decode_or_refused(
    lacking: Path,
) -> None:
    with av.open(str(lacking)) as container:
        container.streams.video[0].thread_type = "NONE"
        want = {frame.pts: native_md5(frame) for frame in container.decode(video=0)}
    for backwards in (False, True):
        got = read(lacking, backwards=backwards)
        assert None in got.values()
        assert all(md5 in (None, want[pts]) for pts, md5 in got.items())


@pytest.mark.parametrize("name", ["mpeg2.ts", "mpeg4.mp4", "mjpeg.avi"])
def test_a_packet_of_rubbish_tells(name: str, tmp_path: Path) -> None:
    write_whole(tmp_path, [name])
    path = tmp_path / name
    content = path.read_bytes()
    with av.open(str(path)) as container:
        packets = [bytes(packet) for packet in container.demux(video=0) if packet.size]
    rubbish = max(packets[1:9], key=len)
    place = content.find(rubbish[-40:])
    assert place > 0
    path.write_bytes(content[:place] + b"\x55" * 30 + content[place + 30 :])
    assert places_told(path)


def test_two_threads_hear_each_their_own_decoder(lacking: Path, tmp_path: Path) -> None:
    sound = write_video(tmp_path / "sound.mp4", num_frames=60)
    want = read(sound)
    hurt = read(lacking)
    faults: list[str] = []

    def look(path: Path, result: dict[int, str | None]) -> None:
        faults.extend(path.name for _ in range(6) if read(path) != result)

    jobs = [(sound, want), (lacking, hurt), (lacking, hurt), (sound, want)]
    threads = [threading.Thread(target=look, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in threads)
    assert None not in want.values()
    assert faults == []


def test_nothing_is_printed_where_nobody_asked(
    lacking: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    assert None in read(lacking).values()
    assert caplog.records == []
    assert capfd.readouterr().err == ""


def test_who_listens_to_pyav_still_gets_the_messages(
    lacking: Path, caplog: pytest.LogCaptureFixture
) -> None:
    av.logging.set_level(av.logging.WARNING)
    read(lacking)
    assert av.logging.get_level() == av.logging.WARNING
    assert any("Missing reference" in record.getMessage() for record in caplog.records)
    with av.logging.Capture() as messages:
        read(lacking)
    assert any("Missing reference" in text for _, _, text in messages)


def test_a_level_that_is_set_later_gives_the_logger_its_own_level_back() -> None:
    logger = logging.getLogger("libav")
    logger.setLevel(logging.INFO)
    listen()
    assert (av.logging.get_level(), logger.level) == (OUR_LEVEL, SILENT)
    listen()
    av.logging.set_level(av.logging.VERBOSE)
    listen()
    assert (av.logging.get_level(), logger.level) == (av.logging.VERBOSE, logging.INFO)


@pytest.mark.parametrize("level", [av.logging.PANIC, av.logging.FATAL])
def test_a_level_below_errors_is_raised_to_errors(level: int, lacking: Path) -> None:
    av.logging.set_level(level)
    assert None in read(lacking).values()
    assert av.logging.get_level() == av.logging.ERROR


def test_a_reader_hears_damage_after_somebody_turned_the_log_off(lacking: Path) -> None:
    read(lacking)
    av.logging.set_level(None)
    assert None in read(lacking).values()


def test_a_reference_from_before_the_entry_point_is_no_damage() -> None:
    messages = [(av.logging.ERROR, "h264", "mmco: unref short failure\n")]
    assert tells_error(messages, from_start=True)
    assert not tells_error(messages, from_start=False)
    assert not tells_error([(av.logging.WARNING, "h264", "odd")], from_start=True)


def test_a_jpeg_begins_as_one_and_has_a_scan() -> None:
    picture = b"\xff\xd8\xff\xe0 tables \xff\xda data \xff\xd9"
    assert not is_hurt_jpeg(picture)
    assert not is_hurt_jpeg(b"\0\0\xff" + picture)
    assert is_hurt_jpeg(picture.replace(b"\xff\xda", b"\xff\0"))
    assert is_hurt_jpeg(b"\xff\xd9" + picture[2:])

"""Small files that each carry one fault or quirk of the wild, made with the ffmpeg command.

The names are those of public bug reports' recipes where there is one. ``RECIPES`` holds the files
in which every frame is sound; damaged ones have functions of their own.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import av

from tests.patience import PATIENT_SECONDS
from tests.video.formats import format_recipes

FFMPEG = shutil.which("ffmpeg")
SOURCE = "testsrc2=size=96x64:rate=25:duration=2"
GAPS = "select='if(lt(n,25),not(mod(n,2)),not(mod(n,5)))'"


def ffmpeg(*arguments: str) -> None:
    """Run ffmpeg; its own words are shown when it fails."""
    assert FFMPEG is not None
    command = [FFMPEG, "-hide_banner", "-loglevel", "error", "-y", *arguments]
    subprocess.run(command, check=True, timeout=PATIENT_SECONDS, stdin=subprocess.DEVNULL)


def pattern(path: Path, *encode: str, source: str = SOURCE) -> Path:
    """The moving test pattern, encoded."""
    ffmpeg("-f", "lavfi", "-i", source, *encode, "-threads", "1", str(path))
    return path


def copied(path: Path, original: Path, *options: str, before: tuple[str, ...] = ()) -> Path:
    """The packets of another file in a new container."""
    ffmpeg(*before, "-i", str(original), "-c", "copy", *options, str(path))
    return path


X264 = ("-c:v", "libx264", "-pix_fmt", "yuv420p")
X265 = ("-c:v", "libx265", "-pix_fmt", "yuv420p", "-x265-params")
R00 = (*X264, "-bf", "2", "-g", "10")


def r00(folder: Path) -> Path:
    """Control: x264 with B-frames, a key frame every 10."""
    return pattern(folder / "R00.mp4", *R00)


def r01(folder: Path) -> Path:
    """Cut without re-encoding: a lead-in behind an edit list."""
    return copied(folder / "R01.mp4", r00(folder), before=("-ss", "0.5"))


def r01_late(folder: Path) -> Path:
    """The same cut in a file with one key frame only."""
    whole = pattern(folder / "R01_whole.mp4", *X264, "-bf", "2", "-g", "250")
    return copied(folder / "R01_late.mp4", whole, before=("-ss", "0.9"))


def r03(folder: Path) -> Path:
    return pattern(folder / "R03.avi", *R00)


def r03_mpeg4(folder: Path) -> Path:
    return pattern(folder / "R03_mpeg4.avi", "-c:v", "mpeg4", "-bf", "2", "-g", "10")


def r06(folder: Path) -> Path:
    return pattern(folder / "R06.mp4", "-vf", GAPS, "-fps_mode", "vfr", *X264)


def r06_cfr(folder: Path) -> Path:
    """What R06 shows, at a constant rate: gaps are filled by repeating frames."""
    return pattern(folder / "R06_cfr.mp4", "-vf", f"{GAPS},fps=25", *X264)


def r08(folder: Path, degrees: int = 90, *, mirrored: bool = False) -> Path:
    """Turned clockwise (after a left-right flip, if mirrored) by the matrix in the track header."""
    path = folder / f"R08_{degrees}{'m' * mirrored}.mp4"
    content = bytearray(r00(folder).read_bytes())
    cos, sin = {0: (1, 0), 90: (0, 1), 180: (-1, 0), 270: (0, -1)}[degrees]
    flip = -1 if mirrored else 1
    one = 1 << 16
    matrix = (flip * cos * one, flip * sin * one, 0, -sin * one, cos * one, 0, 0, 0, 1 << 30)
    at = content.index(b"tkhd") + 4 + 40
    content[at : at + 36] = struct.pack(">9i", *matrix)
    path.write_bytes(content)
    return path


def r12(folder: Path) -> Path:
    flags = "frag_keyframe+empty_moov+default_base_moof"
    return copied(folder / "R12.mp4", r00(folder), "-movflags", flags)


def r13(folder: Path) -> Path:
    """Two sizes in one stream, without a word in the container."""
    both = folder / "R13.h264"
    sizes = ("96x64", "128x96")
    sources = [f"testsrc2=size={size}:rate=25:duration=1" for size in sizes]
    parts = [
        pattern(folder / f"R13{size}.h264", *X264, "-bf", "0", source=source)
        for size, source in zip(sizes, sources, strict=True)
    ]
    both.write_bytes(b"".join(part.read_bytes() for part in parts))
    return copied(folder / "R13.mkv", both, "-bsf:v", "setts=pts=N*40:dts=N*40")


def r14(folder: Path) -> Path:
    """A cover picture beside the video."""
    cover = pattern(folder / "cover.png", "-frames:v", "1")
    more = ("-map", "1:v", "-map", "0:v", "-c", "copy", "-disposition:v:0", "attached_pic")
    ffmpeg("-i", str(r00(folder)), "-i", str(cover), *more, str(folder / "R14.mp4"))
    return folder / "R14.mp4"


def r14b(folder: Path) -> Path:
    """A second video stream of another size and rate."""
    other = pattern(folder / "b.mp4", *X264, source="testsrc2=size=160x120:rate=10:duration=2")
    ffmpeg("-i", str(r00(folder)), "-i", str(other), "-map", "0", "-map", "1", "-c", "copy",
           str(folder / "R14b.mp4"))  # fmt: skip
    return folder / "R14b.mp4"


ODD = "testsrc2=size=65x49:rate=25:duration=1,format=rgb24"


def r15_vp9(folder: Path) -> Path:
    return pattern(folder / "R15.webm", "-c:v", "libvpx-vp9", "-pix_fmt", "yuv420p", source=ODD)


def r15_444(folder: Path) -> Path:
    return pattern(folder / "R15.mp4", "-c:v", "libx264", "-pix_fmt", "yuv444p", source=ODD)


def r20(folder: Path) -> Path:
    return pattern(folder / "R20.mp4", *X264, "-frames:v", "1")


def r25(folder: Path) -> Path:
    """An AVI with empty places: its header counts more frames than there are."""
    return pattern(folder / "R25.avi", "-vf", GAPS, "-fps_mode", "vfr", "-c:v", "mpeg4")


def hevc_open(folder: Path, suffix: str = "mkv") -> Path:
    """Open groups: pictures that precede their key frame in time follow it in the file."""
    options = "open-gop=1:keyint=10:min-keyint=10:scenecut=0:bframes=3:log-level=error"
    return pattern(folder / f"hevc_open.{suffix}", *X265, options)


def hevc_cut_at_cra(folder: Path) -> Path:
    """A stream that begins at an open group: its leading pictures have nothing to refer to."""
    return copied(folder / "hevc_cut.mkv", hevc_open(folder, "ts"), before=("-ss", "0.9"))


def x264_open(folder: Path, suffix: str = "mkv") -> Path:
    options = "open-gop=1:keyint=10:min-keyint=10:scenecut=0:bframes=3"
    return pattern(folder / f"x264_open.{suffix}", *X264, "-x264-params", options)


def x264_open_long(folder: Path) -> Path:
    """One IDR frame in a long stream, and entry points that are none."""
    options = "open-gop=1:keyint=25:min-keyint=25:scenecut=0:bframes=3"
    source = SOURCE.replace("duration=2", "duration=16")
    return pattern(folder / "x264_long.mkv", *X264, "-x264-params", options, source=source)


def x264_refresh(folder: Path) -> Path:
    """No key frame but the first: the picture is refreshed in columns."""
    options = "intra-refresh=1:keyint=20:bframes=0"
    return pattern(folder / "x264_refresh.mp4", *X264, "-x264-params", options)


def x264_fields(folder: Path, suffix: str = "mp4") -> Path:
    options = ("-flags", "+ildct+ilme", "-x264-params", "tff=1:keyint=10:bframes=2")
    return pattern(folder / f"x264_fields.{suffix}", *X264, *options)


def raw_h264(folder: Path) -> Path:
    return copied(folder / "raw.h264", r00(folder))


def ts_h264(folder: Path) -> Path:
    return copied(folder / "R00.ts", r00(folder))


def ts_no_key_first(folder: Path) -> Path:
    """A transport stream from which the first key frame was cut away."""
    whole = ts_h264(folder).read_bytes()
    path = folder / "no_key.ts"
    cut = len(whole) // 4 // 188 * 188
    path.write_bytes(whole[: 3 * 188] + whole[cut:])
    return path


def mpeg2(folder: Path, suffix: str = "ts") -> Path:
    options = ("-bf", "2", "-g", "10", "-sc_threshold", "1000000000")
    return pattern(folder / f"mpeg2.{suffix}", "-c:v", "mpeg2video", "-q:v", "3", *options)


def vp8(folder: Path) -> Path:
    """Two passes, so that there are alternate references: packets that show nothing."""
    path, log = folder / "vp8.webm", str(folder / "vp8log")
    options = ("-auto-alt-ref", "1", "-lag-in-frames", "25", "-arnr-maxframes", "7", "-g", "50")
    for run in ("1", "2"):
        passes = ("-pass", run, "-passlogfile", log)
        pattern(path, "-c:v", "libvpx", "-pix_fmt", "yuv420p", "-b:v", "150k", *options, *passes)
    return path


def vp9_hidden(folder: Path, suffix: str = "webm") -> Path:
    options = ("-auto-alt-ref", "1", "-lag-in-frames", "16", "-g", "20", "-b:v", "200k")
    return pattern(folder / f"vp9.{suffix}", "-c:v", "libvpx-vp9", "-pix_fmt", "yuv420p", *options)


def av1(folder: Path, suffix: str = "mp4") -> Path:
    options = ("-c:v", "libaom-av1", "-cpu-used", "8", "-g", "20", "-lag-in-frames", "16")
    return pattern(folder / f"av1.{suffix}", *options, "-pix_fmt", "yuv420p")


def gif(folder: Path) -> Path:
    return pattern(folder / "moving.gif", "-r", "10")


def mjpeg_avi(folder: Path) -> Path:
    return pattern(folder / "mjpeg.avi", "-c:v", "mjpeg", "-q:v", "3", "-pix_fmt", "yuvj420p")


def png_mov(folder: Path) -> Path:
    return pattern(folder / "png.mov", "-c:v", "png", "-frames:v", "10")


def qtrle(folder: Path) -> Path:
    return pattern(folder / "animation.mov", "-c:v", "qtrle", "-g", "10")


def dv(folder: Path) -> Path:
    """A raw stream whose demuxer counts times anew after a seek."""
    source = "testsrc2=size=720x576:rate=25:duration=0.4"
    return pattern(folder / "raw.dv", "-c:v", "dvvideo", "-pix_fmt", "yuv420p", source=source)


def mxf(folder: Path) -> Path:
    return pattern(folder / "long_gop.mxf", "-c:v", "mpeg2video", "-g", "10", "-bf", "2")


def ts_joined(folder: Path) -> Path:
    """Two recordings one after the other: times fall back in the middle."""
    one = ts_h264(folder).read_bytes()
    (folder / "joined.ts").write_bytes(one + one)
    return folder / "joined.ts"


def theora(folder: Path) -> Path:
    return pattern(folder / "t.ogv", "-c:v", "libtheora", "-g", "16", "-pix_fmt", "yuv420p")


def flv(folder: Path) -> Path:
    return pattern(folder / "sorenson.flv", "-c:v", "flv1", "-g", "10")


def mpeg4_mp4(folder: Path) -> Path:
    return pattern(folder / "mpeg4.mp4", "-c:v", "mpeg4", "-bf", "2", "-g", "10")


def wmv(folder: Path) -> Path:
    return pattern(folder / "v2.wmv", "-c:v", "wmv2", "-g", "10")


def still(folder: Path) -> Path:
    """Every frame the same picture: content tells nothing about place."""
    grey = "color=gray:size=96x64:rate=25:duration=2"
    return pattern(folder / "still.avi", "-c:v", "mpeg4", "-bf", "2", "-g", "10", source=grey)


def repeated_times(folder: Path) -> Path:
    """Two frames at one time, as a clumsy recorder writes them."""
    halved = "setts=pts=floor(N/2)*80:dts=N*40-80"
    whole = pattern(folder / "no_b.mp4", *X264, "-bf", "0", "-g", "10")
    return copied(folder / "repeated.mkv", whole, "-bsf:v", halved)


def joined(folder: Path) -> Path:
    """Fifty clips joined by stream copy; their edges are key frames with B-frames around."""
    clip = pattern(folder / "clip.mp4", *X264, "-frames:v", "17", "-r", "30000/1001")
    listing = folder / "list.txt"
    listing.write_text(f"file '{clip}'\n" * 50)
    return copied(folder / "joined.mp4", listing, before=("-f", "concat", "-safe", "0"))


def packed_b(folder: Path) -> Path:
    """DivX style: a B-frame rides in the packet of the frame before it, then an empty packet."""
    options = ("-c:v", "mpeg4", "-bf", "1", "-g", "10", "-tag:v", "DX50", "-f", "m4v")
    stream = pattern(folder / "plain.m4v", *options).read_bytes()
    stream = stream.replace(b"Lavc59.37.100", b"DivX503b1393p")
    # Headers (of the sequence, of a group) belong to the picture behind them.
    units = [b"\0\0\1" + unit for unit in stream.split(b"\0\0\1")[1:]]
    coded, kinds, head = [], [], b""
    for unit in units:
        head += unit
        if unit[3] == 0xB6:
            coded.append(head)
            kinds.append(unit[4] >> 6)  # 0, 1, 2: I, P, B
            head = b""
    packets: list[tuple[bytes, bool]] = []
    for number, picture in enumerate(coded):
        if kinds[number] == 2:
            packets[-1] = (packets[-1][0] + picture, packets[-1][1])
            packets.append((b"\0\0\1\xb6\x50\x40", False))
        else:
            packets.append((picture, kinds[number] == 0))
    return _avi_of(packets, folder / "packed.avi", like=r03_mpeg4(folder))


def _avi_of(packets: list[tuple[bytes, bool]], path: Path, *, like: Path) -> Path:
    """An AVI of (bytes, is key frame) packets, with the stream header of another file."""
    with av.open(str(like)) as original, av.open(str(path), "w") as container:
        model = original.streams.video[0]
        stream = container.add_stream_from_template(model)
        for number, (content, is_key) in enumerate(packets):
            packet = av.Packet(content)
            packet.stream, packet.time_base = stream, model.time_base
            packet.pts = packet.dts = number
            packet.duration, packet.is_keyframe = 1, is_key
            container.mux(packet)
    return path


RECIPES: dict[str, Callable[[Path], Path]] = {
    recipe.__name__: recipe
    for recipe in (
        r00, r01, r01_late, r03, r03_mpeg4, r06, r06_cfr, r08, r12, r13, r14, r14b, r15_vp9,
        r15_444, r20, r25, hevc_open, hevc_cut_at_cra, x264_open, x264_open_long, x264_refresh,
        x264_fields, raw_h264, ts_h264, ts_no_key_first, mpeg2, vp8, vp9_hidden, av1, gif,
        mjpeg_avi, flv, mpeg4_mp4, wmv, still, repeated_times, joined,
        packed_b, png_mov, qtrle, dv, mxf, ts_joined, theora,
    )
} | {
    "hevc_open_ts": lambda folder: hevc_open(folder, "ts"),
    "hevc_open_mp4": lambda folder: hevc_open(folder, "mp4"),
    "x264_open_ts": lambda folder: x264_open(folder, "ts"),
    "x264_open_mp4": lambda folder: x264_open(folder, "mp4"),
    "x264_fields_ts": lambda folder: x264_fields(folder, "ts"),
    "mpeg2_ps": lambda folder: mpeg2(folder, "mpg"),
    "mpeg2_mkv": lambda folder: mpeg2(folder, "mkv"),
    "mpeg2_mp4": lambda folder: mpeg2(folder, "mp4"),
    "vp9_mp4": lambda folder: vp9_hidden(folder, "mp4"),
    "vp9_ivf": lambda folder: vp9_hidden(folder, "ivf"),
    "av1_mkv": lambda folder: av1(folder, "mkv"),
    "av1_ivf": lambda folder: av1(folder, "ivf"),
} | format_recipes(pattern)  # fmt: skip


def r09(folder: Path) -> Path:
    """No index: the first bytes of a file whose moov comes last."""
    path = folder / "R09.mp4"
    path.write_bytes(r00(folder).read_bytes()[:20_000])
    return path


def _faststart(folder: Path) -> bytes:
    return copied(folder / "fast.mp4", r00(folder), "-movflags", "+faststart").read_bytes()


def r09b(folder: Path) -> Path:
    """The index in front promises frames that were cut off."""
    whole, path = _faststart(folder), folder / "R09b.mp4"
    path.write_bytes(whole[: len(whole) * 6 // 10])
    return path


def r10(folder: Path) -> Path:
    """Zeros in the middle: packets look sound and do not decode."""
    whole, path = bytearray(_faststart(folder)), folder / "R10.mp4"
    middle = len(whole) // 2
    whole[middle : middle + 3000] = bytes(3000)
    path.write_bytes(whole)
    return path


def r20_zero(folder: Path) -> Path:
    ffmpeg("-f", "lavfi", "-i", SOURCE, *X264, "-frames:v", "0", str(folder / "R20_zero.mp4"))
    return folder / "R20_zero.mp4"


def empty(folder: Path) -> Path:
    (folder / "empty.mp4").touch()
    return folder / "empty.mp4"


def web_page(folder: Path) -> Path:
    path = folder / "page.mp4"
    path.write_text("<!DOCTYPE html><html><body>404 Not Found</body></html>" * 20)
    return path


def audio_only(folder: Path) -> Path:
    ffmpeg("-f", "lavfi", "-i", "sine=duration=1", "-c:a", "aac", str(folder / "sound.mp4"))
    return folder / "sound.mp4"


def picture_as_video(folder: Path) -> Path:
    picture = pattern(folder / "one.png", "-frames:v", "1")
    return picture.rename(folder / "picture.mp4")


def framemd5(path: Path) -> list[str]:
    """What ffmpeg itself makes of a file: the md5 of every displayed frame."""
    assert FFMPEG is not None
    command = [FFMPEG, "-loglevel", "quiet", "-noautorotate", "-i", str(path), "-map", "0:V:0",
               "-autoscale", "0", "-fps_mode", "passthrough", "-f", "framemd5", "-"]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENT_SECONDS, check=True
    )
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    return [line.split(",")[-1].strip() for line in lines]

"""Which FFmpeg decodes here: versions of its libraries, and how it was built."""

from __future__ import annotations

import shlex

import av
from av import _core

from filmgate.machine.environment.facts import Fact

PLACES = ("--prefix", "--libdir", "--incdir", "--bindir", "--pkgconfigdir", "--pkg-config-flags",
          "--extra-cflags", "--extra-ldflags", "--extra-libs", "--cc", "--cxx", "--ld",
          "--host-cc", "--pkg-config", "--sysroot", "--toolchain")  # fmt: skip
"""Options that name places of the machine that built it; they are left out."""


def ffmpeg_facts() -> list[Fact]:
    """Of the libraries that PyAV has loaded."""
    configurations = {str(meta["configuration"]) for meta in _core.library_meta.values()}
    return [
        Fact(name="ffmpeg.version", value=av.ffmpeg_version_info),
        *(
            Fact(name=f"ffmpeg.{library.removeprefix('lib')}", value=".".join(map(str, version)))
            for library, version in sorted(av.library_versions.items())
        ),
        Fact(name="ffmpeg.configuration", value=" ".join(sorted(map(portable, configurations)))),
    ]


def portable(configuration: str) -> str:
    """The configure options in alphabetical order, without those that name places."""
    kept = [
        option
        for option in shlex.split(configuration)
        if option.partition("=")[0] not in PLACES and "/" not in option
    ]
    return " ".join(sorted(set(kept)))

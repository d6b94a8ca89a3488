"""A measuring process, as the one who asks sees it: started when first asked, still in between.

Between two samples all of its processes stand still (SIGSTOP), so that loaders and feeds neither
take time from the next reader nor fill their queues with clips that the clock does not see.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import msgspec
import psutil

from benchmarks.machine import ROOT
from benchmarks.peer_readers.task import Answer, Ask, Setup

ANSWER_DEADLINE_SECONDS = 900
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
REAP_SECONDS = 5
"""What a process that has closed its end gets, so that it is known by its own exit code."""
STDERR_TAIL_CHARACTERS = 400


class ReaderProcess:
    """One reader in a process of its own; one that crashed is started anew when asked again."""

    def __init__(self, python: str, setup: Setup) -> None:
        self.label = setup.entry.label
        self._python = python
        self._setup = setup
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._missing: Answer | None = None

    def ask(self, ask: Ask) -> Answer:
        """The answer, or what became of the process. Nothing is asked of what is not installed."""
        if self._missing is not None:
            return self._missing
        process = self._wake()
        began, busy, own = time.monotonic(), busy_seconds(), tree_seconds(process.pid)
        answer = self._answer(process, ask)
        if answer.missing:
            self._missing = answer
        if process.poll() is not None:
            return answer
        elapsed, taken = time.monotonic() - began, None
        if busy is not None and (busy_after := busy_seconds()) is not None:
            mine = tree_seconds(process.pid) - own
            taken = max(0.0, busy_after - busy - mine) / elapsed
        os.killpg(process.pid, signal.SIGSTOP)
        return msgspec.structs.replace(answer, others_cores=taken)

    def close(self) -> None:
        """End its processes."""
        if self._process is not None:
            self._end(self._process)
        self._stderr.close()

    def _wake(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGCONT)
            return self._process
        self._stderr.seek(0)
        self._stderr.truncate()
        self._process = subprocess.Popen(
            [self._python, "-m", "benchmarks.peer_readers.sessions"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            cwd=ROOT,
            env=os.environ | ONE_THREAD | {"PYTHONPATH": str(ROOT / "src")},
            process_group=0,  # stopped or not, the kernel ends it (SIGHUP) if this process dies
        )
        self._tell(self._process, msgspec.json.encode(self._setup))
        return self._process

    def _answer(self, process: subprocess.Popen[bytes], ask: Ask) -> Answer:
        self._tell(process, msgspec.json.encode(ask))
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], ANSWER_DEADLINE_SECONDS)
        if not ready:
            self._end(process)
            return Answer(error=f"no answer within {ANSWER_DEADLINE_SECONDS} s")
        line = process.stdout.readline()
        if line:
            return msgspec.json.decode(line, type=Answer)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(REAP_SECONDS)
        self._end(process)
        return Answer(error=f"its process ended with {process.returncode}: {self._last_words()}")

    def _tell(self, process: subprocess.Popen[bytes], line: bytes) -> None:
        assert process.stdin is not None
        try:
            process.stdin.write(line + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return  # it is dead, as the missing answer will say

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        with contextlib.suppress(ProcessLookupError):  # all of them have ended
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None and not pipe.closed:
                with contextlib.suppress(BrokenPipeError):  # what it was not told matters no more
                    pipe.close()
        self._process = None

    def _last_words(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read().decode(errors="replace").strip()[-STDERR_TAIL_CHARACTERS:]


def busy_seconds() -> float | None:
    """Processor time that the machine has spent on anything; None where the kernel hides it."""
    try:
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    except OSError:
        return None
    user, nice, system, _idle, _wait, irq, soft_irq, steal = (int(word) for word in words)
    return (user + nice + system + irq + soft_irq + steal) / os.sysconf("SC_CLK_TCK")


def tree_seconds(process_id: int) -> float:
    """Processor time of a process and what it started, and of this one."""
    times = [psutil.Process().cpu_times()]
    try:
        root = psutil.Process(process_id)
        for one in (root, *root.children(recursive=True)):
            times.append(one.cpu_times())
    except psutil.NoSuchProcess:
        pass  # it ended; what it took counts as others'
    return float(sum(spent.user + spent.system for spent in times))

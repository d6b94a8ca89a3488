from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from filmgate.stopping import REPEAT_SECONDS
from filmgate.train.signals import StopAtOnce, StopRequest, StopWait


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_first_signal_is_remembered_and_stops_nothing(number: signal.Signals) -> None:
    with StopRequest() as stop:
        assert not stop.is_asked
        os.kill(os.getpid(), number)
        assert stop.signal_name == number.name


def test_a_signal_breaks_a_wait_that_may_be_broken() -> None:
    with StopRequest() as stop:
        with pytest.raises(StopWait), stop.breaks_wait():
            os.kill(os.getpid(), signal.SIGTERM)
            threading.Event().wait(30)
        assert stop.is_asked


def test_a_wait_is_not_begun_after_a_signal() -> None:
    with StopRequest() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(StopWait), stop.breaks_wait():
            pytest.fail("the wait was begun")


def test_signals_that_follow_at_once_are_the_same_request() -> None:
    with StopRequest() as stop:
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)
        assert stop.signal_name == "SIGTERM"


def test_a_second_request_stops_at_once() -> None:
    with pytest.raises(StopAtOnce), StopRequest():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(REPEAT_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(30)


def test_the_handlers_that_were_there_come_back() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with StopRequest():
        assert signal.getsignal(signal.SIGTERM) != before[0]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_a_hangup_that_was_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopRequest() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop.is_asked
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_in_another_thread_nothing_is_installed() -> None:
    before = signal.getsignal(signal.SIGTERM)
    seen: list[object] = []

    def work() -> None:
        with StopRequest() as stop:
            seen.extend([signal.getsignal(signal.SIGTERM), stop.is_asked])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(30)
    assert seen == [before, False]

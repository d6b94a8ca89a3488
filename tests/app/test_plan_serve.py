from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
import uvicorn
from msgspec import json

from filmgate.app.plan_ask import ask_again
from filmgate.app.plan_serve import is_loopback, listen, new_token, plan_app, serve
from filmgate.app.plan_whole import Asked
from filmgate.errors import UserError
from tests.app.test_plan_page import asked, estimate_of
from tests.patience import PATIENT_SECONDS

FIRST = asked()


def ask(values: Mapping[str, str]) -> Asked:
    return ask_again(FIRST, values, estimate_of)


@contextmanager
def served(token: str | None = None) -> Iterator[int]:
    """The port at which the page is served."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        config = uvicorn.Config(plan_app(ask, token=token), log_level="error", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        until = time.monotonic() + PATIENT_SECONDS
        while not server.started and time.monotonic() < until:
            time.sleep(0.01)
        try:
            yield port
        finally:
            server.should_exit = True
            thread.join(PATIENT_SECONDS)


def get(port: int, path: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENT_SECONDS)
    try:
        connection.request("GET", path, headers=headers)
        reply = connection.getresponse()
        told = {name.lower(): value for name, value in reply.getheaders()}
        return reply.status, reply.read().decode(), told
    finally:
        connection.close()


def test_the_page_has_sliders_and_no_outside_resource() -> None:
    with served() as port:
        status, page, headers = get(port, "/")
    assert status == 200
    assert page.count('type="range"') == 4
    assert "<select" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert "default-src 'none'" in headers["content-security-policy"]


def test_a_slider_changes_the_answer() -> None:
    with served() as port:
        few = get(port, "/answer?frames=17")[1]
        many = get(port, "/answer?frames=97&card=H200+SXM")[1]
        record = get(port, "/plan.json?frames=97")[1]
    assert "17 frames" in few
    assert "97 frames" in many
    assert "H200 SXM" in many
    assert json.decode(record)["request"]["frames"] == 97


def test_an_impossible_value_is_said_on_the_page() -> None:
    with served() as port:
        assert "frames is" in get(port, "/answer?frames=none")[1]
        status, page, _ = get(port, "/?card=H300")
        fault, record, _ = get(port, "/plan.json?frames=none")
        long = get(port, "/?frames=" + "1" * 3000)[0]
    assert status == 422
    assert "near it" in page
    assert fault == 422
    assert "error" in json.decode(record)
    assert long == 414


def test_another_name_than_this_machines_is_refused() -> None:
    with served() as port:
        assert get(port, "/", Host="evil.example")[0] == 421
        assert get(port, "/", Host="localhost")[0] == 200


def test_with_a_token_nothing_is_answered_without_it() -> None:
    token = new_token()
    with served(token) as port:
        for path in ("/", "/answer", "/plan.json", "/elsewhere", "/?token=wrong"):
            assert get(port, path)[0] == 403
        assert get(port, "/answer", Cookie="filmgate_plan=wrong")[0] == 403
        status, _, headers = get(port, f"/?token={token}")
        assert status == 303
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert get(port, "/", Cookie=cookie.split(";")[0])[0] == 200
        assert get(port, "/plan.json", Authorization=f"Bearer {token}")[0] == 200


def test_nobody_listens_outside_loopback_without_a_token() -> None:
    with (
        socket.create_server(("0.0.0.0", 0)) as listening,
        pytest.raises(UserError, match="not loopback"),
    ):
        serve(ask, listening, token=None)


def test_a_port_that_is_taken_is_an_error() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(UserError, match="cannot listen"),
    ):
        listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(UserError, match="cannot listen"):
        listen("192.0.2.1", 8000)


@pytest.mark.parametrize(
    ("host", "inside"),
    [("127.0.0.1", True), ("127.3.2.1", True), ("::1", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("192.168.0.3", False), ("example.org", False),
     ("127.0.0.1.example.org", False)],
)  # fmt: skip
def test_loopback_is_what_only_this_machine_reaches(host: str, inside: bool) -> None:
    assert is_loopback(host) is inside

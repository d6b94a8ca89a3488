"""The newest numbers for Prometheus to fetch, on this machine's loopback alone.

Source: Prometheus's text exposition format 0.0.4.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from filmgate.outputs.points import Point
from filmgate.outputs.sink import OutputFault

HOST = "127.0.0.1"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class PrometheusSink:
    """``http://127.0.0.1:PORT/metrics``."""

    run_id: str | None = None

    def __init__(self, port: int) -> None:
        self._port = port
        self._server: _Server | None = None

    def open(self) -> None:
        """Listen."""
        try:
            self._server = _Server((HOST, self._port), _Handler)
        except OSError as error:
            raise OutputFault(f"{HOST}:{self._port}: {error.strerror or error}") from None
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def put(self, points: Sequence[Point], *, is_unsure: bool) -> None:
        """Show them from now on."""
        assert self._server is not None, "open() comes first"
        shown = {point.key: point for point in points}
        self._server.shown = {**self._server.shown, **shown}

    def finish(self) -> None:
        """Nothing more to say."""

    def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    shown: dict[str, Point] = {}
    """Replaced as a whole, so that a reader sees one state."""


class _Handler(BaseHTTPRequestHandler):
    timeout = 10

    def do_GET(self) -> None:
        """The page."""
        assert isinstance(self.server, _Server)
        if self.path != "/metrics":
            self.send_error(404)
            return
        body = page(self.server.shown).encode()
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Say nothing."""


def page(shown: dict[str, Point]) -> str:
    """One gauge for each number, and the step it is of."""
    lines = []
    for key, point in sorted(shown.items()):
        name = "filmgate_" + re.sub(r"[^a-zA-Z0-9_]", "_", key)
        lines += [f"# TYPE {name} gauge", f"{name} {point.value!r}"]
    if shown:
        step = max(point.step for point in shown.values())
        lines += ["# TYPE filmgate_step gauge", f"filmgate_step {step}"]
    return "\n".join(lines) + "\n"

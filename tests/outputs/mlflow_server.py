"""MLflow's REST interface over real HTTP, as much of it as a sender needs, and its failures."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse


class MlflowServer:
    """Keeps what it is sent, twice where it is sent twice."""

    def __init__(self) -> None:
        self.metrics: list[dict[str, Any]] = []
        self.runs: list[dict[str, Any]] = []
        self.is_finished = False
        self.fail_before = 0
        """So many requests are refused."""
        self.fail_after = 0
        """So many batches are kept, and the connection breaks before the answer."""
        self.port = 0
        self._http: ThreadingHTTPServer | None = None

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(
                    self, {k: v[0] for k, v in parse_qs(urlparse(self.path).query).items()}
                )

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                outer.answer(self, json.loads(self.rfile.read(length) or b"{}"))

            def log_request(self, *args: object) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self._http.server_port
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def stop(self) -> None:
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http = None

    def answer(self, handler: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        name = urlparse(handler.path).path.partition("/mlflow/")[2]
        if self.fail_before:
            self.fail_before -= 1
            self._reply(handler, 500, {"error_code": "INTERNAL_ERROR", "message": "not now"})
            return
        code, reply = self._reply_to(name, asked)
        if name == "runs/log-batch" and self.fail_after:
            self.fail_after -= 1
            handler.connection.close()
            return
        self._reply(handler, code, reply)

    def _reply_to(self, name: str, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if name == "experiments/get-by-name":
            return 200, {"experiment": {"experiment_id": "1", "name": "run"}}
        if name == "runs/search":
            return 200, {"runs": self.runs}
        if name == "runs/get":
            return 200, {"run": self.runs[0]}
        if name == "runs/create":
            info = {"run_id": "r1", "experiment_id": "1", "status": "RUNNING", "user_id": "u"}
            self.runs = [{"info": info, "data": {"tags": asked.get("tags", [])}}]
            return 200, {"run": self.runs[0]}
        if name == "runs/log-batch":
            self.metrics += asked.get("metrics", [])
            return 200, {}
        if name == "metrics/get-history":
            key = asked["metric_key"]
            return 200, {"metrics": [one for one in self.metrics if one["key"] == key]}
        if name == "runs/update":
            self.is_finished = asked.get("status") == "FINISHED"
            return 200, {"run_info": self.runs[0]["info"]}
        return 404, {"error_code": "ENDPOINT_NOT_FOUND", "message": name}

    def _reply(self, handler: BaseHTTPRequestHandler, code: int, reply: dict[str, Any]) -> None:
        body = json.dumps(reply).encode()
        handler.send_response(code)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def steps_of(self, key: str = "step/loss") -> list[int]:
        """Step of every value of a metric, as they came."""
        return [int(one["step"]) for one in self.metrics if one["key"] == key]

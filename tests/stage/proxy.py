"""A TCP proxy that does to answers what networks do: cuts, trickles, stands still, flips bytes."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass(kw_only=True)
class Weather:
    """What it does now; may be changed at any time."""

    cut_after_bytes: int | None = None
    """Each connection is cut after so many bytes of answers."""
    num_cuts: int = 10**9
    """So many connections are cut, then none."""
    bytes_per_second: float | None = None
    still_after_bytes: int | None = None
    """Each connection stands still after so many bytes of answers, without an end."""
    num_still: int = 10**9
    flip_at: int | None = None
    """The byte at this place of all answers is flipped, once."""
    is_down: bool = False
    """New connections are cut at once."""
    num_bytes: int = 0
    """Of answers so far."""
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def running_proxy(to_port: int) -> Iterator[tuple[int, Weather]]:
    """(its port, its weather)."""
    weather = Weather()
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=_serve, args=(listener, to_port, weather), daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1], weather
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def _serve(listener: socket.socket, to_port: int, weather: Weather) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        if weather.is_down:
            client.close()
            continue
        threading.Thread(target=_connect, args=(client, to_port, weather), daemon=True).start()


def _connect(client: socket.socket, to_port: int, weather: Weather) -> None:
    """One connection; both sockets are closed when either end is through."""
    with client, socket.create_connection(("127.0.0.1", to_port)) as server:
        asking = threading.Thread(target=_ask, args=(client, server), daemon=True)
        asking.start()
        with suppress(OSError):
            _answer(server, client, weather)
        for one in (client, server):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)  # closing alone waits for the thread that reads
        asking.join()


def _ask(client: socket.socket, server: socket.socket) -> None:
    with suppress(OSError):
        while data := client.recv(1 << 16):
            server.sendall(data)
    with suppress(OSError):
        server.shutdown(socket.SHUT_WR)


def _answer(server: socket.socket, client: socket.socket, weather: Weather) -> None:
    passed = 0
    while data := server.recv(1 << 14):
        data = _with_flip(data, weather)
        if weather.cut_after_bytes is not None and weather.num_cuts > 0:
            room = weather.cut_after_bytes - passed
            if len(data) >= room:
                weather.num_cuts -= 1
                client.sendall(data[:room])
                return
        is_still = weather.still_after_bytes is not None and weather.num_still > 0
        if is_still and passed + len(data) >= (weather.still_after_bytes or 0):
            weather.num_still -= 1
            while server.recv(1 << 14):  # until the client goes, which ends the server's too
                pass
            return
        if weather.bytes_per_second is not None:
            time.sleep(len(data) / weather.bytes_per_second)
        client.sendall(data)
        passed += len(data)


def _with_flip(data: bytes, weather: Weather) -> bytes:
    with weather.lock:
        first = weather.num_bytes
        weather.num_bytes += len(data)
        if weather.flip_at is None or not first <= weather.flip_at < first + len(data):
            return data
        at = weather.flip_at - first
        weather.flip_at = None
    return data[:at] + bytes([data[at] ^ 0x20]) + data[at + 1 :]

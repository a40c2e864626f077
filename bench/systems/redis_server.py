"""Redis with an append-only file: `RPUSH` of an encoded event, synced always or never.

Needs the program `redis-server`; it is started in a folder of its own, on a socket, and stopped.
"""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from bench import workload
from bench.systems import Missing
from bench.systems.floor import encode

_KEY = "events"


class Redis:
    """A list in a server of its own."""

    def __init__(self, folder: Path, tasks: int = workload.TASKS) -> None:
        if shutil.which("redis-server") is None:
            raise Missing("the program redis-server is not here")
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._tasks = tasks

    @contextmanager
    def _server(self, *, durable: bool) -> Iterator[Any]:
        socket = self._folder / "redis.sock"
        options = ["--port", "0", "--unixsocket", socket, "--dir", self._folder, "--save", ""]
        options += ["--appendonly", "yes", "--appendfsync", "always" if durable else "no"]
        server = subprocess.Popen(["redis-server", *map(str, options)], stdout=subprocess.DEVNULL)
        try:
            client = redis.Redis(unix_socket_path=str(socket))
            _wait_for(client)
            yield client
        finally:
            server.terminate()
            server.wait(30)

    def append(self, count: int, *, durable: bool, **_: Any) -> list[float]:
        """Push one by one; return seconds for each."""
        found = list(workload.events(count, tasks=self._tasks))
        took = []
        with self._server(durable=durable) as client:
            for number, event in enumerate(found, 1):
                start = time.perf_counter()
                client.rpush(_KEY, encode(number, event))
                took.append(time.perf_counter() - start)
        return took

    def batches(self, count: int, *, size: int, durable: bool) -> float:
        """Push batches, each one command; return seconds in all."""
        found = list(workload.events(count, tasks=self._tasks))
        with self._server(durable=durable) as client:
            start = time.perf_counter()
            for at in range(0, count, size):
                lines = [encode(at + n, e) for n, e in enumerate(found[at : at + size], 1)]
                client.rpush(_KEY, *lines)
            return time.perf_counter() - start


def _wait_for(client: Any) -> None:
    for _ in range(200):
        try:
            client.ping()
            return
        except redis.exceptions.RedisError:
            time.sleep(0.05)
    raise Missing("redis-server did not start")

"""Writers and watchers whose whole history is kept, against several servers of one store."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, Protocol

import orjson
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from orchtw.testing.histories import History, Operation

OK: Final = (200, 201)
MAPS: Final = "/api/v1/namespaces/default/configmaps"
SELECTED: Final = "labelSelector=register%3Dyes"
AGAIN_S: Final = 0.1
"""Before a watcher or a writer goes to the next server."""

_SEEN: Final = re.compile(
    rb'^\{"type":"([A-Z]+)",.*?"name":"([^"]+)".*?"resourceVersion":"(\d+)"', re.DOTALL
)
_VALUE: Final = re.compile(rb'"value":"([^"]+)"')


class Gone(Exception):
    """The server has not answered: what became of the request is open."""


class Door(Protocol):
    """One server, as its clients reach it."""

    async def request(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Code and body of the answer. Raises Gone."""

    async def watch(self, path: str, told: Callable[[bytes], None]) -> None:
        """Have each line of a watch told, until it ends. Raises Gone."""


class Load:
    """`writers` compare and swap `keys` registers at all doors, `rate` times a second together; reads come first.

    `watchers` follow all of them, spread over the doors, each from where it was when its watch ends.
    """

    def __init__(
        self, reactor: Any, doors: Sequence[Door], *, writers: int, watchers: int, rate: float, keys: int = 8
    ) -> None:
        self.history = History()
        self.acknowledged: list[float] = []
        self.reads: list[float] = []
        self.problems: list[str] = []
        self.lost = 0
        """Writes whose answer was lost, or an error."""
        self._reactor = reactor
        self._doors = doors
        self._keys = [f"register-{number}" for number in range(keys)]
        self._pause_s = writers / rate
        self._random = Random(1)
        self._writing = True
        self._watching = True
        self._last: dict[str, int] = {}
        self._watchers = [Watcher(self, number) for number in range(watchers)]
        self._writers = writers
        self._running: list[Deferred[None]] = []

    async def begin(self) -> None:
        """Let all watchers watch, then have the writers write."""
        _, body = await self._doors[0].request("GET", f"{MAPS}?{SELECTED}")
        start = orjson.loads(body)["metadata"]["resourceVersion"]
        for watcher in self._watchers:
            watcher.version = start
            self._run(watcher.run())
        while not all(watcher.open for watcher in self._watchers):
            await deferLater(self._reactor, AGAIN_S)
        for number in range(self._writers):
            self._run(self._write(number))

    async def finish(self, limit_s: float) -> None:
        """End the writers, let the watchers see everything, and read all registers at all servers."""
        self._writing = False
        deadline = self._reactor.seconds() + limit_s
        for key in self._keys:
            for door in self._doors:
                while not await self._read(door, key) and self._reactor.seconds() < deadline:
                    await deferLater(self._reactor, AGAIN_S)
        while not all(watcher.has(self._last) for watcher in self._watchers):
            if self._reactor.seconds() > deadline:
                break
            await deferLater(self._reactor, AGAIN_S)
        self._watching = False
        self.history.watched_by(watcher.name for watcher in self._watchers)

    def leave(self) -> None:
        """End all loads and watches."""
        self._writing = self._watching = False
        for each in self._running:
            each.cancel()

    @property
    def watching(self) -> bool:
        """Report whether watchers go on."""
        return self._watching

    def door(self, number: int) -> Door:
        """Return the doors in turn."""
        return self._doors[number % len(self._doors)]

    def now(self) -> float:
        """Return the time that the history has."""
        seconds: float = self._reactor.seconds()
        return seconds

    async def wait(self, seconds: float) -> None:
        """Wait for the given seconds."""
        await deferLater(self._reactor, seconds)

    def _run(self, work: Any) -> None:
        running = Deferred.fromCoroutine(work)
        running.addErrback(self._failed)
        self._running.append(running)

    def _failed(self, failure: Failure) -> None:
        if self._watching:
            self.problems.append(failure.getErrorMessage())

    async def _write(self, writer: int) -> None:
        number, door = 0, writer
        await self.wait(self._random.random() * self._pause_s)
        while self._writing:
            began, number = self.now(), number + 1
            key = self._random.choice(self._keys)
            try:
                revision = await self._seen(self.door(door + number), key)
                await self._swap(self.door(door), key, f"{writer}-{number}", revision)
            except Gone:
                door += 1
                await self.wait(AGAIN_S)
            await self.wait(max(0.0, self._pause_s - (self.now() - began)))

    async def _read(self, door: Door, key: str) -> bool:
        """Read a register; whether that could be done."""
        try:
            self._last[key] = await self._seen(door, key)
        except Gone:
            return False
        return True

    async def _seen(self, door: Door, key: str) -> int:
        """Read a register; the revision of what stands there. Raises Gone."""
        operation = self.history.read(key, self.now())
        code, body = await door.request("GET", f"{MAPS}/{key}")
        if code == 404:
            operation.end(self.now(), 0)
        elif code in OK:
            found = orjson.loads(body)
            operation.end(self.now(), int(found["metadata"]["resourceVersion"]), found["data"]["value"])
        else:
            raise Gone(f"{code} {body[:200]!r}")
        self.reads.append(self.now())
        return operation.revision

    async def _swap(self, door: Door, key: str, value: str, expected: int) -> None:
        """Write a register if it is as `expected`. Raises Gone."""
        meta = {"name": key, "labels": {"register": "yes"}}
        document = {"metadata": {**meta, "resourceVersion": str(expected)} if expected else meta}
        operation = self.history.write(key, value, expected, self.now())
        method, path = ("PUT", f"{MAPS}/{key}") if expected else ("POST", MAPS)
        try:
            code, body = await door.request(method, path, orjson.dumps({**document, "data": {"value": value}}))
        except Gone:
            self.lost += 1
            raise
        self._answered(operation, code, body)

    def _answered(self, operation: Operation, code: int, body: bytes) -> None:
        if code in OK:
            operation.end(self.now(), int(orjson.loads(body)["metadata"]["resourceVersion"]))
            self.acknowledged.append(self.now())
        elif code == 409:
            operation.end(self.now(), 0)
        else:
            self.lost += 1
            raise Gone(f"{code} {body[:200]!r}")


class Watcher:
    """Follows all registers at one of the servers, then the next."""

    def __init__(self, load: Load, number: int) -> None:
        self.name = f"watcher {number}"
        self.version = ""
        self.open = False
        self._load = load
        self._number = number
        self._at: dict[str, int] = {}

    async def run(self) -> None:
        """Watch until the load has seen enough."""
        while self._load.watching:
            path = f"{MAPS}?watch=1&{SELECTED}&allowWatchBookmarks=true&resourceVersion={self.version}"
            try:
                self.open = True
                await self._load.door(self._number).watch(path, self._told)
            except Gone:
                pass
            self._number += 1
            await self._load.wait(AGAIN_S)

    def has(self, last: dict[str, int]) -> bool:
        """Report whether everything up to these revisions of registers was told."""
        return all(self._at.get(key, 0) >= revision for key, revision in last.items())

    def _told(self, line: bytes) -> None:
        found = _SEEN.match(line)
        if found is None or found[1] == b"BOOKMARK":
            if found is None and b'"BOOKMARK"' not in line[:20]:
                self._load.problems.append(f"{self.name} was told {line[:300]!r}")
            return
        value = _VALUE.search(line)
        key, self.version = found[2].decode(), found[3].decode()
        revision = self._at[key] = int(self.version)
        self._load.history.saw(self.name, key, revision, value[1].decode() if value else "")

# mypy: disallow-untyped-calls=False
"""kill -9 at any moment loses no acknowledged write (reference DESIGN-23)."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Mapping
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred
from twisted.internet.protocol import ProcessProtocol
from twisted.internet.task import Clock, deferLater
from twisted.trial.unittest import TestCase

from orchtw import errors
from orchtw.storage.sqlite.store import SqliteStore
from orchtw.storage.testing import Recorder
from tests.forked import forking

reactor: Any = installed_reactor

ROUNDS = 16
ACKNOWLEDGED = (0, 300)  # how many writes are acknowledged before the kill
START_S = (0.01, 0.2)  # after the process began, in every fourth round: it may not have come to open the store


class Child(ProcessProtocol):
    """Collects what the writing process has printed until its end; `living` fires after so many lines."""

    def __init__(self, lines: int) -> None:
        self.living: Deferred[None] = Deferred()
        self.ended: Deferred[None] = Deferred()
        self._lines = lines
        self._output = b""
        self._errors = b""

    def outReceived(self, data: bytes) -> None:
        """Acknowledgements, and first of all `ready`."""
        self._output += data
        self._lines -= data.count(b"\n")
        if not self.living.called and self._lines <= 0:
            self.living.callback(None)

    def errReceived(self, data: bytes) -> None:
        """Keep the child's errors, which explain an end before `ready`."""
        self._errors += data

    def processEnded(self, reason: Any) -> None:
        """All output has been read."""
        if not self.living.called:
            self.living.errback(RuntimeError(self._errors.decode() or "killed"))
        self.ended.callback(None)

    @property
    def acknowledged(self) -> list[tuple[int, str, str]]:
        """(revision, key, value) of each complete line."""
        lines = self._output.decode().split("\n")[1:-1]
        return [(int(revision), key, value) for revision, key, value in (line.split(" ") for line in lines)]

    @property
    def began_at(self) -> int | None:
        """The revision at the start; None if it did not come to that."""
        first, end, _ = self._output.partition(b"\n")
        return int(first.split()[1]) if end else None


class Kill9Tests(TestCase):
    """A store file that goes through many deaths."""

    timeout = 120

    def setUp(self) -> None:
        """One file for all rounds."""
        self.path = os.path.abspath(self.mktemp())
        self.choose = random.Random(9)
        self.expected: dict[str, tuple[int, str]] = {}
        self.highest = 1

    async def test_no_acknowledged_write_is_lost(self) -> None:
        """After each of many kills under concurrent writes the store opens with every acknowledged write in it."""
        for number in range(ROUNDS):
            child = await self.live_and_die(str(number), while_starting=number % 4 == 0)
            if child.began_at is not None:
                self.assertEqual(child.began_at, self.highest)
            await self.verify(child.acknowledged)

    async def live_and_die(self, seed: str, *, while_starting: bool) -> Child:
        """A child that wrote a random number of values, then was killed without notice."""
        child = Child(1 + self.choose.randint(*ACKNOWLEDGED))
        command = [sys.executable, "-m", "tests.storage.sqlite.kill9_child", self.path, seed]
        process = forking.spawnProcess(child, sys.executable, command, env={**os.environ, "PYTHONPATH": _path()})
        try:
            if while_starting:
                child.living.addErrback(lambda failure: None)
                await deferLater(reactor, self.choose.uniform(*START_S), lambda: None)
            else:
                await child.living
        finally:
            if not child.ended.called:
                process.signalProcess("KILL")
        await child.ended
        return child

    async def verify(self, acknowledged: list[tuple[int, str, str]]) -> None:
        """Open the file: every acknowledged write, or a later one, is there; the history is whole."""
        store = SqliteStore(self.path, reactor=reactor, clock=Clock(), compaction_interval_s=0)
        await store.start()
        try:
            await self.verify_history(store, {revision: entry for revision, *entry in acknowledged})
            for revision, key, value in acknowledged:
                self.expected[key] = (revision, value)
            self.assertGreaterEqual(await store.revision(), max([self.highest, *(a[0] for a in acknowledged)]))
            live = {item.key: item for item in (await store.list("/registry/")).items}
            for key, (revision, value) in self.expected.items():
                item = live.get(key)
                if item is not None and item.revision == revision:
                    self.assertEqual(item.value.decode(), value)
                elif item is not None:
                    self.assertGreater(item.revision, revision, key)
                elif value != "-":
                    self.assertIn(key, self.deleted, f"{key} of {revision} is lost")
            self.expected = {key: (item.revision, item.value.decode()) for key, item in live.items()}
            self.highest = await store.revision()
        finally:
            await store.stop()

    async def verify_history(self, store: SqliteStore, acknowledged: Mapping[int, list[str]]) -> None:
        """Each kept revision is there once; the acknowledged ones are what the child wrote.

        One write per writer and batch may be durable and yet not acknowledged: those are taken as they are.
        """
        recorder = Recorder()
        after = 0
        while True:
            try:
                (await store.subscribe(after, recorder.deliver)).stop()
                break
            except errors.Expired as exc:
                after = int(exc.message.rpartition("(")[2].rstrip(")"))
        revisions = recorder.revisions
        if revisions:
            self.assertEqual(revisions, list(range(revisions[0], await store.revision() + 1)))
        self.deleted = {change.key for change in recorder.changes if change.value is None}
        for change in recorder.changes:
            if change.revision in acknowledged:
                value = "-" if change.value is None else change.value.decode()
                self.assertEqual([change.key, value], acknowledged[change.revision])


def _path() -> str:
    """Where the child finds this package and the project."""
    return os.pathsep.join(
        entry for entry in [os.path.abspath(os.path.join(__file__, "../../../..")), *sys.path] if entry
    )

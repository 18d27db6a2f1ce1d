"""Quotas of two servers that share a store, of which each hears late of the other (reference PLUG-61, CTRL-48)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.registry.offload import Offload
from orchtw.storage.store import Change, Op, Page, WriteOutcome
from orchtw.testing import in_process
from orchtw.testing.in_process import ClientAnswer
from orchtw.wire.objects import Object
from tests.client.shared_store import SharedStore
from tests.host_clock import HostClock
from tests.in_process import InProcessServer
from tests.verbs.served import DEFAULT

T = TypeVar("T")
Changes = list[Change]
DELAY_S = 0.05
"""After which a server hears of the other's writes."""

MAPS = f"{DEFAULT}/configmaps"
QUOTA = f"{DEFAULT}/resourcequotas/rq"


class Share(SharedStore):
    """One server's way to the data of `first`, which all have in common."""

    def __init__(self, clock: Clock, first: Share | None = None) -> None:
        super().__init__(clock)
        self._all: list[Share] = [self] if first is None else first._all
        if first is not None:
            self.items = first.items
            self._all.append(self)

    async def revision(self) -> int:
        return self._all[0].now

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, start: str = "") -> Page:
        found = await super().list(prefix, revision=revision, limit=limit, start=start)
        return Page(found.items, self._all[0].now, found.more, found.remaining)

    def _decide(self, op: Op, changes: Changes) -> WriteOutcome:
        first = self._all[0]
        self.now = first.now
        outcome = super()._decide(op, changes)
        first.now = self.now
        for other in self._all:
            if other is not self and changes and outcome.revision:
                change = changes[-1]
                other._untold.append(Change(change.revision, change.key, change.value, change.previous))
                self.clock.callLater(DELAY_S, other.tell)
        return outcome


class SharedQuotaTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two servers, of which the first counts."""
        self.clock = HostClock()
        self.patch(Offload, "start", lambda offload: None)
        self.stores: list[Share] = []
        self.servers = [self.server(("resourcequota",)), self.server(())]

    def server(self, controllers: Sequence[str]) -> InProcessServer:
        store = Share(self.clock, self.stores[0] if self.stores else None)
        self.stores.append(store)
        self.patch(in_process, "claim_store", lambda config, naming, reactor: store)
        server = InProcessServer(
            self.clock, self.mktemp(), disable_admission_plugins=("ServiceAccount",), controllers=controllers
        )
        self.done(server.start())
        self.addCleanup(lambda: self.done(server.instance.lifecycle.stop()))
        return server

    def done(self, work: Awaitable[T]) -> T:
        found: list[Any] = []
        Deferred.fromCoroutine(work).addBoth(found.append)  # type: ignore[arg-type]
        for _ in range(2000):
            if found:
                break
            self.clock.advance(0.01)
        result = found[0]
        if hasattr(result, "raiseException"):
            result.raiseException()
        return result  # type: ignore[no-any-return]

    def send(self, server: int, method: str, path: str, body: Object | None = None) -> ClientAnswer:
        return self.done(self.servers[server].request(method, path, body))

    def begin(self, server: int, method: str, path: str, body: Object | None = None) -> list[ClientAnswer]:
        answers: list[ClientAnswer] = []
        Deferred.fromCoroutine(self.servers[server].request(method, path, body)).addCallback(answers.append)
        return answers

    def settle(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        for _ in range(int(seconds * 100)):
            if until():
                return
            self.clock.advance(0.01)

    def quota(self, hard: Object) -> None:
        made = self.send(0, "POST", f"{DEFAULT}/resourcequotas", {"metadata": {"name": "rq"}, "spec": {"hard": hard}})
        self.assertEqual(made.code, 201)
        self.settle(1)

    def used(self, server: int = 0) -> Object:
        found: Object = self.send(server, "GET", QUOTA).json["status"]["used"]
        return found

    def test_race(self) -> None:
        """Both admit together what the quota allows, and nobody is told of the other's writes by an error."""
        self.quota({"configmaps": "60"})
        sent = [self.begin(i % 2, "POST", MAPS, {"metadata": {"name": f"m{i}"}}) for i in range(100)]
        self.settle(30, lambda: all(sent))
        codes = [answers[0].code for answers in sent]
        self.assertEqual((codes.count(201), codes.count(403)), (60, 40))
        self.assertEqual((self.used(0), self.used(1)), ({"configmaps": "60"}, {"configmaps": "60"}))
        self.settle(10)
        self.assertEqual(self.used(), {"configmaps": "60"})

    def test_steady_race(self) -> None:
        """Writers that go on are all served, however often the others are faster."""
        self.quota({"configmaps": "1000"})
        codes: list[int] = []

        def write(server: int, name: str, number: int) -> None:
            if number < 8:
                path = {"metadata": {"name": f"{name}-{number}"}}
                sent = Deferred.fromCoroutine(self.servers[server].request("POST", MAPS, path))

                def then(answer: ClientAnswer) -> None:
                    codes.append(answer.code)
                    write(server, name, number + 1)

                sent.addCallback(then)

        for writer in range(12):
            write(writer % 2, f"w{writer}", 0)
        self.settle(60, lambda: len(codes) == 96)
        self.assertEqual(codes, [201] * 96)
        self.assertEqual(self.used(), {"configmaps": "96"})

    def test_room_made_elsewhere(self) -> None:
        """Nobody is refused for lack of room that is there by now."""
        self.quota({"configmaps": "1"})
        self.assertEqual(self.send(1, "POST", MAPS, {"metadata": {"name": "a"}}).code, 201)
        self.settle(6)
        self.assertEqual(self.send(0, "DELETE", f"{MAPS}/a").code, 200)
        while self.used(0) != {"configmaps": "0"}:
            self.clock.advance(0.001)
        self.assertEqual(self.send(1, "POST", MAPS, {"metadata": {"name": "b"}}).code, 201)
        self.assertEqual(self.used(1), {"configmaps": "1"})

    def test_healing(self) -> None:
        """Void charges of another server are free after some seconds."""
        self.quota({"configmaps": "5"})
        self.assertEqual(self.send(1, "POST", MAPS, {"metadata": {"name": "a"}}).code, 201)
        self.assertEqual(self.send(1, "POST", MAPS, {"metadata": {"name": "a"}}).code, 409)
        self.assertEqual(self.used(), {"configmaps": "2"})
        self.settle(3)
        self.assertEqual(self.used(), {"configmaps": "2"})
        self.settle(5)
        self.assertEqual(self.used(), {"configmaps": "1"})

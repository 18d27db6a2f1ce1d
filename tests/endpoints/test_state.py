"""`/debug/state` without a server behind it (reference STORE-40)."""

from __future__ import annotations

from typing import Any

import attrs
import orjson
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.endpoints.paths import Paths
from orchtw.endpoints.state import PATH, State
from orchtw.errors import BadRequest, MethodNotAllowed
from orchtw.request import Peer, Request


@attrs.frozen
class Shown:
    """A snapshot of two objects."""

    name: str
    revision: int = 7
    items: dict[str, object] = attrs.field(factory=lambda: {"a": None, "b": None})
    size_bytes: int = 20
    taken: float = 0.5


@attrs.frozen
class Done:
    """Outcome of a restore."""

    revision: int
    changed: int


class Recorded:
    """Control that notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def kept(self) -> list[Shown]:
        return [Shown("start"), Shown("x")]

    async def snapshot(self) -> Shown:
        return Shown("new")

    async def restore(self, name: str, *, expires: bool) -> Done:
        self.asked.append((name, expires))
        return Done(9, 3)

    def release(self, name: str) -> None:
        self.asked.append(name)


class StateTests(SynchronousTestCase):
    """Requests and their answers."""

    def setUp(self) -> None:
        """Paths with the endpoint."""
        self.control = Recorded()
        self.paths = Paths([State(self.control, "start")])

    def ask(self, body: Any = None, method: str = "POST") -> Any:
        """Return the JSON of an answer."""
        sent = b"" if body is None else orjson.dumps(body)
        request = Request(method=method, path=PATH, body=sent, peer=Peer(address="", port=0))
        response = self.successResultOf(Deferred.fromCoroutine(self.paths(request)))
        self.assertEqual((response.code, response.content_type), (200, "application/json"))
        assert isinstance(response.body, bytes)
        return orjson.loads(response.body)

    def test_list(self) -> None:
        """GET lists the snapshots; the index does not list the path."""
        first, second = self.ask(method="GET")
        self.assertEqual(second["snapshot"], "x")
        self.assertEqual(
            first,
            {"snapshot": "start", "resourceVersion": "7", "objects": 2, "bytes": 20, "taken": "1970-01-01T00:00:00Z"},
        )
        self.assertEqual(list(State(self.control, "start").paths()), [])

    def test_actions(self) -> None:
        """Each action is answered with what it has led to; watches expire unless they are to follow."""
        self.assertEqual(self.ask({"action": "snapshot"})["snapshot"], "new")
        done = {"resourceVersion": "9", "changed": 3}
        self.assertEqual(self.ask({"action": "reset"}), done)
        self.assertEqual(self.ask({"action": "reset", "watches": "follow"}), done)
        self.assertEqual(self.ask({"action": "restore", "snapshot": "x", "watches": "expire"}), done)
        self.assertEqual(self.ask({"action": "release", "snapshot": "x"}), {})
        self.assertEqual(self.control.asked, [("start", True), ("start", False), ("x", True), "x"])

    def test_refused(self) -> None:
        """Malformed requests are refused before anything is done; other methods are not allowed."""
        body: Any
        for body in (
            [], 1, {}, {"action": "undo"}, {"action": ["reset"]}, {"action": "reset", "snapshot": "x"},
            {"action": "release"}, {"action": "restore", "snapshot": "", "watches": "follow"},
            {"action": "reset", "watches": "stay"},
        ):  # fmt: skip
            request = Request(method="POST", path=PATH, body=orjson.dumps(body), peer=Peer(address="", port=0))
            self.failureResultOf(Deferred.fromCoroutine(self.paths(request)), BadRequest)
        request = Request(method="PUT", path=PATH, body=b"", peer=Peer(address="", port=0))
        self.failureResultOf(Deferred.fromCoroutine(self.paths(request)), MethodNotAllowed)
        self.assertEqual(self.control.asked, [])

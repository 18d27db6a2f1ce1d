"""Readers and fault rules of tests, over calls that are answered in memory."""
# covers: orchtw.testing.control.calls, orchtw.testing.control.faults, orchtw.testing.control.blocking

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.testing.control.answers import ApiError
from orchtw.testing.control.blocking import finish
from orchtw.testing.control.calls import AddedFault, Call, watch_error
from orchtw.testing.control.faults import AsyncFaults, Faults
from orchtw.testing.control.reader import AsyncReader, Reader
from orchtw.testing.control.resources import ServedResource, UnknownResource


class Server:
    """Double that keeps the requests and answers with values by path."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.bodies: list[Any] = []

    async def send(self, call: Call[Any], /) -> Any:
        """Return the value of the call's last path segment. Raises ApiError (404) without one."""
        self.bodies.append(call.request.body)
        name = call.request.path.partition("?")[0].rpartition("/")[2]
        if name not in self.answers:
            raise watch_error({"code": 404, "message": "not found"})
        return self.answers[name]


class Names:
    """Double of a server's resources, of which there is one."""

    async def find(self, text: str) -> ServedResource:
        """Return config maps. Raises UnknownResource for anything else."""
        if text not in ("cm", "configmaps"):
            raise UnknownResource(text)
        return ServedResource("/api/v1", "configmaps", True)


class ReaderTests(SynchronousTestCase):
    """Reads by names as for kubectl."""

    def reader(self, server: Server) -> Reader:
        """Return a blocking reader of the double."""
        names: Any = Names()
        return Reader(AsyncReader(server.send, names))

    def test_get(self) -> None:
        """An object is found by its short name, and None stands for one that is missing."""
        reader = self.reader(Server(a={"metadata": {"name": "a"}}))
        self.assertEqual(reader.get("cm/a"), {"metadata": {"name": "a"}})
        self.assertIsNone(reader.get("configmaps/b"))
        self.assertRaises(ValueError, reader.get, "configmaps")

    def test_list(self) -> None:
        """The items of a list are returned."""
        self.assertEqual(self.reader(Server(configmaps={"items": [1]})).list("cm", "default"), [1])


class FaultTests(SynchronousTestCase):
    """Rules as a test spells them."""

    def test_resolved(self) -> None:
        """A short name is sent as the plural that the server matches, labels as a selector; others are refused."""
        server, names = Server(faults=AddedFault("conflict-1", {"struck": 0})), Names()
        found: Any = names
        faults = Faults(AsyncFaults(server.send, found))
        self.assertEqual(faults.add(status=409, resource="cm", labels={"a": "b"}).id, "conflict-1")
        self.assertEqual(server.bodies, [{"status": 409, "resource": ["configmaps"], "labels": "a=b"}])
        self.assertRaises(UnknownResource, faults.add, status=409, resource="nopes")

    def test_live(self) -> None:
        """The count of a rule is asked for when it is read."""
        server = Server(faults=AddedFault("late-1", {"struck": 0}))
        found: Any = Names()
        added = Faults(AsyncFaults(server.send, found)).add(status=409)
        server.answers["late-1"] = AddedFault("late-1", {"struck": 2})
        self.assertEqual(added.struck, 2)
        del server.answers["late-1"]
        with self.assertRaises(ApiError):
            _ = added.struck


class FinishTests(SynchronousTestCase):
    """Coroutines that never suspend."""

    def test_suspended(self) -> None:
        """A coroutine that needs an event loop is a RuntimeError."""

        class Forever:
            def __await__(self) -> Any:
                yield

        async def wait() -> None:
            await Forever()

        self.assertIn("AsyncApiServer", str(self.assertRaises(RuntimeError, finish, wait())))

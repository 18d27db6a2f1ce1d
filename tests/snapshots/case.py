"""Servers without a network whose state can be restored, on a store in memory or in a file."""

from __future__ import annotations

from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from orchtw.snapshots.state_control import StateControl
from orchtw.testing.in_process import ClientAnswer
from orchtw.testing.in_process_watch import Event, InProcessWatch, WatchEnded
from orchtw.wire.objects import Object
from tests.in_process import InProcessServer

reactor: Any = installed_reactor

STATE = "/debug/state"
MAPS = "/api/v1/namespaces/default/configmaps"
PATIENCE_S = 60.0


def config_map(name: str, **data: str) -> Object:
    """A config map with some data."""
    return {"metadata": {"name": name}, "data": data}


def gizmo(group: str = "example.com") -> Object:
    """A definition of a small kind."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "gizmos", "singular": "gizmo", "kind": "Gizmo", "listKind": "GizmoList"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": f"gizmos.{group}"}, "spec": spec}


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GIZMOS = "/apis/example.com/v1/namespaces/default/gizmos"
GIZMO = {"apiVersion": "example.com/v1", "kind": "Gizmo", "metadata": {"name": "g"}, "spec": {"size": 1}}


class StateCase(TestCase):
    """Tests with a server of their own."""

    timeout = 120
    backend = "memory"
    settings: dict[str, Any] = {}

    async def setUp(self) -> None:  # type: ignore[override]
        """Start a server under Kubernetes' names."""
        self.server = InProcessServer(
            reactor,
            self.mktemp(),
            storage_backend=self.backend,
            vocabulary="kubernetes",
            enable_state_control=True,
            **self.settings,
        )
        await self.server.start()
        self.addCleanup(self.server.stop)

    @property
    def control(self) -> StateControl:
        """The control of the server's state."""
        control: Any = self.server.instance.state
        assert isinstance(control, StateControl)
        return control

    async def ask(self, method: str, path: str, body: Any = None, code: int = 0, **headers: str) -> ClientAnswer:
        """Send a request, which must succeed, or be answered with a certain code."""
        answer = await self.server.request(method, path, body, headers)
        self.assertTrue(answer.code == code if code else answer.code < 300, answer)
        return answer

    async def created(self, path: str, obj: Object) -> Object:
        """Create an object and return it as stored."""
        stored: Object = (await self.ask("POST", path, obj, 201)).json
        return stored

    async def got(self, path: str) -> Object | None:
        """Return an object, or None."""
        answer = await self.server.request("GET", path)
        self.assertIn(answer.code, (200, 404), answer)
        return answer.json if answer.code == 200 else None

    async def names(self, path: str) -> list[str]:
        """Return the names of the objects of a collection, without those that controllers make."""
        items = (await self.ask("GET", path)).json["items"]
        return [item["metadata"]["name"] for item in items if item["metadata"]["name"] != "kube-root-ca.crt"]

    async def snapshot(self) -> str:
        """Take a snapshot and return its name."""
        name: str = (await self.ask("POST", STATE, {"action": "snapshot"}, 200)).json["snapshot"]
        return name

    async def restore(self, name: str = "", watches: str = "expire") -> Object:
        """Restore a snapshot, by default that of the start."""
        action = {"action": "restore", "snapshot": name} if name else {"action": "reset"}
        done: Object = (await self.ask("POST", STATE, {**action, "watches": watches}, 200)).json
        return done

    async def watch(self, path: str) -> InProcessWatch:
        """Start a watch, which ends with the test."""
        watch = await self.server.watch(path)
        self.addCleanup(watch.close)
        return watch

    async def rest(self, watch: InProcessWatch) -> list[Event]:
        """Return all events up to the end of a watch."""
        events = []
        while True:
            try:
                events.append(await watch.next())
            except WatchEnded:
                return events

    async def until(self, met: Any) -> None:
        """Wait until an asynchronous condition is met."""
        end = reactor.seconds() + PATIENCE_S
        while not await met():
            self.assertLess(reactor.seconds(), end, "it takes too long")
            await deferLater(reactor, 0.01)

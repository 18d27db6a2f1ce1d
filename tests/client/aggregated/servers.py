"""An aggregated API server of a few widgets, as `Backends` would ask it, and a client of it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import orjson
from twisted.internet.task import Clock

from orchtw.client.aggregated.client import AggregatedClient
from orchtw.client.aggregated.discovery import AggregatedDiscovery
from orchtw.client.aggregated.requests import Requests
from orchtw.client.interface import Resource
from orchtw.errors import Fenced
from orchtw.outbound.exchange import BodySink, CallOutcome, ClientExchange, ResponseHead
from orchtw.registry.aggregation.backends import Ask, BackendAnswer, NoAnswer
from orchtw.registry.aggregation.services import ApiService, ServiceBackend
from orchtw.registry.offload import Offload
from orchtw.request import UserInfo
from orchtw.wire.objects import Object
from tests.registry.aggregation.worlds import AggregationCase, api_service

PATH = "/apis/example.com/v1"
VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "watch"]
WIDGETS: Object = {"name": "widgets", "kind": "Widget", "namespaced": True, "verbs": VERBS}


class Stream(ClientExchange):
    """The rest of an answer, which the test sends."""

    def __init__(self) -> None:
        super().__init__(tls=False)
        self.sink: BodySink | None = None
        self.aborted = False

    def read_into(self, sink: BodySink) -> None:
        self.sink = sink

    def send(self, data: bytes) -> None:
        """Some bytes of it."""
        assert self.sink is not None
        self.sink.received(data)

    def close(self) -> None:
        """End the answer in good order."""
        assert self.sink is not None
        self.sink.ended(CallOutcome.WHOLE)

    def abort(self) -> None:
        self.aborted = True


class Server:
    """Answers by method and target: with JSON or bytes, a code before them, or whatever a function makes."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[tuple[str, Any]] = []
        self.users: set[str] = set()
        self.down = False
        self.streams: list[Stream] = []

    async def whole(
        self, backend: ServiceBackend, ask: Ask, user: UserInfo, timeout_s: float, limit: int = 0
    ) -> BackendAnswer:
        """See `Servers`, as `ask`."""
        self.users.add(user.name)
        self.asked.append((f"{ask.method} {ask.target}", orjson.loads(ask.body) if ask.body else None))
        if self.down:
            raise NoAnswer("EOF")
        code, body = self._answer(f"{ask.method} {ask.target}")
        return BackendAnswer(head=ResponseHead(code=code, headers=()), body=body)

    async def ask(self, backend: ServiceBackend, ask: Ask) -> tuple[ClientExchange, ResponseHead]:
        self.asked.append((f"{ask.method} {ask.target}", None))
        if self.down:
            raise NoAnswer("EOF")
        self.streams.append(Stream())
        code, _ = self._answer("WATCH")
        return self.streams[-1], ResponseHead(code=code, headers=())

    def _answer(self, target: str) -> tuple[int, bytes]:
        found = self.answers.get(target, (404, b"404 page not found"))
        if isinstance(found, Callable):  # type: ignore[arg-type]
            found = found()
        code, body = found if isinstance(found, tuple) else (200, found)
        return code, body if isinstance(body, bytes) else orjson.dumps(body)


def listed(*resources: Object) -> Object:
    """An answer to discovery."""
    return {"kind": "APIResourceList", "apiVersion": "v1", "resources": list(resources)}


def widget(name: str, **meta: Any) -> Object:
    """Return a Widget in namespace a."""
    own = {"name": name, "namespace": "a", "uid": f"uid-{name}", "resourceVersion": "7"}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {**own, **meta}}


class AggregatedCase(AggregationCase):
    """A world with an APIService whose server has widgets."""

    def setUp(self) -> None:
        super().setUp()
        self.clock: Clock = self.world.clock
        self.server = Server()
        self.server.answers = {f"GET {PATH}": listed(WIDGETS), "WATCH": b""}
        self.suspects: list[str] = []
        self.fenced = False
        requests = Requests(
            servers=self.server,
            user=UserInfo(name="collector"),
            offload=Offload(self.clock),
            suspect=self.suspected,
            meta_group="meta.orch.io",
            guard=self.guard,
        )
        self.discovery = AggregatedDiscovery(self.services, requests)
        self.client = AggregatedClient(self.world.client, self.discovery, requests, self.clock, Random(1))
        self.serve("v1.example.com")

    def guard(self) -> None:
        """Raise Fenced if the test has taken the Lease away; called before each write."""
        if self.fenced:
            raise Fenced

    def suspected(self, service: ApiService) -> None:
        self.suspects.append(service.name)

    def serve(self, name: str, *, available: bool = True, **spec: Any) -> None:
        """Make an APIService, and say whether its server works."""
        self.make(api_service(name, **spec))
        self.say(name, available=available)

    def say(self, name: str, *, available: bool) -> None:
        """Say whether it works."""
        status = "True" if available else "False"
        self.change(name, {"status": {"conditions": [{"type": "Available", "status": status}]}}, "status")

    def discover(self) -> tuple[list[Resource], dict[str, str]]:
        """The resources of other servers, and the failures."""
        found = self.world.run(self.client.discover())
        return [each for each in found.resources if each.remote], dict(found.failures)

    @property
    def widgets(self) -> Resource:
        """The resource, once it has been discovered."""
        (found,), _ = self.discover()
        return found

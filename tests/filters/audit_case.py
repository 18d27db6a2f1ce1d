"""Fixtures of the audit stages' tests: requests that pass the stages, and the recorded events."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.audit.auditor import Auditor
from orchtw.audit.counts import Counts
from orchtw.audit.policy import METADATA, AuditPolicy, AuditRule, PolicyOutcome
from orchtw.errors import Unauthorized
from orchtw.filters.audit import AuditStage
from orchtw.filters.chain import Placed, Proceed, line
from orchtw.filters.failed_authentication import RefusedRequests
from orchtw.registry.offload import Offload
from orchtw.request import Peer, Request, Response, UserInfo
from orchtw.rules.request_info import parse
from orchtw.wire.objects import Object
from tests.audit.events import Kept
from tests.end_to_end.case import surface

AMY, BOB = UserInfo(name="amy", groups=("dev",)), UserInfo(name="bob")
POD = "/api/v1/namespaces/n/pods/p"
CONFIG_MAP: Object = {
    "kind": "ConfigMap",
    "apiVersion": "v1",
    "metadata": {"name": "c", "managedFields": [{"manager": "m"}]},
}
BARE: Object = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c"}}
START_S = 1651579200.0
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Users:
    """Authentication: everybody is Amy, at once or later, or nobody is."""

    def __init__(self, user: UserInfo | None = AMY, wait: Deferred[None] | None = None) -> None:
        self.user = user
        self.wait = wait

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        request.info = parse(request.method, request.path, request.params)
        if self.wait is not None:
            return self._later(request, proceed)
        return self._go_on(request, proceed)

    async def _later(self, request: Request, proceed: Proceed) -> Response:
        assert self.wait is not None
        await self.wait
        return await self._go_on(request, proceed)

    def _go_on(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        if self.user is None:
            raise Unauthorized
        request.authenticated = request.user = self.user
        return proceed(request)


class AuditStageCase(SynchronousTestCase):
    """Requests that pass `AuditStage` and `RefusedRequests`."""

    def setUp(self) -> None:
        self.sink = Kept()
        self.now_s = START_S
        self.clock = Clock()

    def auditor(self, level: int = METADATA, **outcome: Any) -> Auditor:
        catalogue, codecs = surface("orch")
        clock = self.clock
        self.counts = Counts(clock)
        self.made = Auditor(
            policy=AuditPolicy([AuditRule(outcome=PolicyOutcome(level=level, **outcome))]),
            sink=self.sink,
            counts=self.counts,
            naming=catalogue.naming,
            codecs=codecs,
            offload=Offload(clock),
            seconds=lambda: self.now_s,
            clock=clock,
        )
        return self.made

    def serve(
        self,
        handler: Handler,
        *,
        level: int = METADATA,
        users: Users | None = None,
        outcome: dict[str, Any] | None = None,
        **request: Any,
    ) -> Deferred[Response]:
        """The answer to a request that passes the stages of audit."""
        auditor = self.auditor(level, **(outcome or {}))
        stages = [
            Placed("refused-requests", RefusedRequests(auditor)),
            Placed("authentication", users or Users()),
            Placed("audit", AuditStage(auditor)),
        ]
        asked = Request(**{"method": "GET", "path": POD, "peer": Peer(address="10.0.0.1", port=1),
                           "audit_id": "id", **request})
        return Deferred.fromCoroutine(line(stages, handler)(asked))

    @property
    def stages(self) -> list[str]:
        """Return the stages of all events."""
        return [event["stage"] for event in self.sink.shown]

    @property
    def last(self) -> Object:
        """Return the last event."""
        return self.sink.shown[-1]


class Stream:
    """A body that comes over time."""

    def start(self, channel: Any) -> None:
        """Do nothing; the tests never start this body."""

    def connection_lost(self) -> None:
        """Do nothing; the tests never lose the connection."""


def answers(body: Any, content_type: str = "") -> Handler:
    async def handler(request: Request) -> Response:
        return Response(code=200, content_type=content_type, body=body)

    return handler

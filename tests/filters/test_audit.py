"""The events of a request, stage by stage (reference AUDIT-1 to AUDIT-6, AUDIT-15)."""
# covers: orchtw.audit.auditor, orchtw.audit.known

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import orjson
from twisted.internet.defer import CancelledError, Deferred, succeed

from orchtw.audit.policy import METADATA, NONE, REQUEST, REQUEST_RESPONSE
from orchtw.authz.decision import Decision
from orchtw.errors import BadRequest, Forbidden, NotFound, Unauthorized
from orchtw.filters.failed_authentication import RefusedRequests
from orchtw.request import SHORT_BYTES, Ending, Peer, Request, Response
from orchtw.schema.codec.envelope import wrap
from tests.audit.events import Kept
from tests.end_to_end.case import surface
from tests.filters.audit_case import AMY, BOB, POD, START_S, AuditStageCase, Stream, Users, answers


class AuditStageTests(AuditStageCase):
    """Auditing in the chain (`AuditStage` and `RefusedRequests`)."""

    def test_answered(self) -> None:
        """Two events of a request: when it came, and when it was answered."""

        async def handler(request: Request) -> Response:
            request.decision = Decision(True, "because")
            request.annotations["a"] = "b"
            self.now_s += 0.25
            return Response(code=200, body=b"{}")

        self.successResultOf(self.serve(handler, query="pretty=1", headers={"user-agent": "x"}))
        common = {
            "level": "Metadata",
            "auditID": "id",
            "requestURI": f"{POD}?pretty=1",
            "verb": "get",
            "user": {"username": "amy", "groups": ["dev"]},
            "sourceIPs": ["10.0.0.1"],
            "userAgent": "x",
            "objectRef": {"resource": "pods", "namespace": "n", "name": "p", "apiVersion": "v1"},
            "requestReceivedTimestamp": "2022-05-03T12:00:00.000000Z",
        }
        received, complete = self.sink.shown
        self.assertEqual(
            received, {**common, "stage": "RequestReceived", "stageTimestamp": "2022-05-03T12:00:00.000000Z"}
        )
        self.assertEqual(
            complete,
            {
                **common,
                "stage": "ResponseComplete",
                "responseStatus": {"metadata": {}, "code": 200},
                "stageTimestamp": "2022-05-03T12:00:00.250000Z",
                "annotations": {
                    "a": "b",
                    "authorization.orch.io/decision": "allow",
                    "authorization.orch.io/reason": "because",
                },
            },
        )
        self.assertEqual((self.counts.events, self.counts.levels), (2, [0, 1, 0, 0]))

    def test_at_once(self) -> None:
        """Both events of a read that waits for nothing are written together, and are as they would be one by one
        (AUDIT-22).
        """

        async def handler(request: Request) -> Response:
            request.decision = Decision(True, "because")
            request.user = AMY if request.query else BOB
            self.now_s += 0.25
            return Response(code=200, body=b"{}")

        agent = {"user-agent": 'x"\xe4', "x-forwarded-for": "10.1.1.1"}
        cases: tuple[dict[str, Any], ...] = (
            {"query": "a=b", "headers": agent},
            {"path": "/api/v1/nodes"},
            {"path": "/version", "method": "HEAD"},
            {"path": "/apis/apps/v1/namespaces/n/deployments/%22d/status"},
            {"outcome": {"omit_stages": frozenset({"RequestReceived"})}},
            {"outcome": {"omit_stages": frozenset({"ResponseComplete"})}},
        )
        for case in cases:
            found = []
            for prompt in (True, False):
                self.now_s, self.sink = START_S, Kept(True if prompt else succeed(True))
                self.successResultOf(self.serve(handler, **case))
                found.append([event.json for event in self.sink.events])
                self.assertEqual(self.counts.events, len(self.sink.events))
                self.counts.events = 0
                if prompt:
                    self.assertEqual(len(self.sink.batches), 1)
            self.assertEqual(found[0], found[1])

    def test_not_at_once(self) -> None:
        """A read that waits, is refused, or comes over time is noted before anything else happens."""
        waiting: Deferred[None] = Deferred()

        async def waits(request: Request) -> Response:
            request.annotations["a"] = "b"
            await waiting
            return Response(code=200, body=b"{}")

        served = self.serve(waits)
        self.assertEqual((self.stages, self.sink.shown[0].get("annotations")), (["RequestReceived"], None))
        waiting.callback(None)
        self.assertEqual(self.successResultOf(served).code, 200)
        self.assertEqual(self.stages, ["RequestReceived", "ResponseComplete"])
        self.assertEqual(self.last["annotations"], {"a": "b"})

        async def refuses(request: Request) -> Response:
            raise NotFound("no")

        self.failureResultOf(self.serve(refuses), NotFound)
        self.assertEqual((len(self.sink.batches), self.last["responseStatus"]["code"]), (4, 404))
        self.assertEqual(self.successResultOf(self.serve(answers(b"{}"), method="POST")).code, 200)
        self.assertEqual(self.sink.batches, [1] * 6)

    def test_forbidden(self) -> None:
        """The decision is `forbid` and the authorizer's reason unless it allows the request (reference AUTHZ-6)."""
        for allowed in (False, None):

            async def handler(request: Request, allowed: bool | None = allowed) -> Response:
                request.decision = Decision(allowed, "why not")
                raise Forbidden("no")

            self.failureResultOf(self.serve(handler), Forbidden)
            expected = {"authorization.orch.io/decision": "forbid", "authorization.orch.io/reason": "why not"}
            self.assertEqual(self.last["annotations"], expected)

    def test_detailed_annotations(self) -> None:
        """Annotations that show parts of the object are recorded from level Request on (reference AUDIT-3)."""

        async def handler(request: Request) -> Response:
            request.detailed_annotations["patch"] = "{}"
            return Response()

        for level, expected in ((METADATA, None), (REQUEST, {"patch": "{}"})):
            self.successResultOf(self.serve(handler, level=level))
            self.assertEqual(self.last.get("annotations"), expected)

    def test_not_heeded(self) -> None:
        """A request that the policy ignores leaves no event, and is counted."""
        self.successResultOf(self.serve(answers(b""), level=NONE))
        self.assertEqual((self.sink.events, self.counts.events, self.counts.levels), ([], 0, [1, 0, 0, 0]))

    def test_omitted(self) -> None:
        """Stages that the policy omits leave no event."""
        self.successResultOf(self.serve(answers(b""), outcome={"omit_stages": frozenset({"RequestReceived"})}))
        self.assertEqual(self.stages, ["ResponseComplete"])

    def test_refused(self) -> None:
        """A refusal is told with its reason and details; from level RequestResponse as the object it is, too."""

        async def handler(request: Request) -> Response:
            raise NotFound.of("pods", "", "p")

        self.failureResultOf(self.serve(handler, level=REQUEST_RESPONSE), NotFound)
        status = {
            "metadata": {},
            "status": "Failure",
            "message": 'pods "p" not found',
            "reason": "NotFound",
            "details": {"name": "p", "kind": "pods"},
            "code": 404,
        }
        self.assertEqual(self.last["responseStatus"], status)
        self.assertEqual(self.last["responseObject"], {"kind": "Status", "apiVersion": "v1", **status})
        self.assertEqual(self.stages, ["RequestReceived", "ResponseComplete"])

    def test_impersonated(self) -> None:
        """`user` is the requester, `impersonatedUser` the user that the request acts as (reference AUDIT-6)."""

        async def handler(request: Request) -> Response:
            request.user = BOB
            return Response()

        self.successResultOf(self.serve(handler))
        received, complete = self.sink.shown
        self.assertNotIn("impersonatedUser", received)
        self.assertEqual((complete["user"]["username"], complete["impersonatedUser"]), ("amy", {"username": "bob"}))

    def test_a_fault(self) -> None:
        """A fault of the server is a Panic, and there is no other end (reference AUDIT-2)."""

        async def handler(request: Request) -> Response:
            raise RuntimeError("boom")

        self.failureResultOf(self.serve(handler), RuntimeError)
        self.assertEqual(self.stages, ["RequestReceived", "Panic"])
        self.assertEqual(
            self.last["responseStatus"],
            {
                "metadata": {},
                "status": "Failure",
                "message": "APIServer panic'd: boom",
                "reason": "InternalError",
                "code": 500,
            },
        )

    def test_left(self) -> None:
        """Of a client that leaves before it is answered, the last event says so."""
        waiting: Deferred[Response] = Deferred()

        async def handler(request: Request) -> Response:
            return await waiting

        answer = self.serve(handler)
        answer.cancel()
        self.failureResultOf(answer, CancelledError)
        self.assertEqual(self.last["responseStatus"]["message"], "Connection closed early")

    def test_long_running(self) -> None:
        """A watch has an event when it begins, and another when it ends (reference AUDIT-2)."""

        async def handler(request: Request) -> Response:
            return Response(stream=Stream())

        answer = self.successResultOf(
            self.serve(handler, path="/api/v1/pods", query="watch=1", level=REQUEST_RESPONSE)
        )
        self.assertEqual(self.stages, ["RequestReceived", "ResponseStarted"])
        answer.end(Ending.CLIENT_GONE)
        self.assertEqual(self.stages, ["RequestReceived", "ResponseStarted", "ResponseComplete"])
        self.assertEqual((self.last["verb"], self.last["responseStatus"]["code"]), ("watch", 200))
        self.assertNotIn("responseObject", self.last)

    def test_long_and_refused(self) -> None:
        """An exec that is refused has begun all the same."""

        async def handler(request: Request) -> Response:
            raise NotFound.of("pods", "", "p")

        self.failureResultOf(self.serve(handler, path=f"{POD}/exec"), NotFound)
        self.assertEqual(self.stages, ["RequestReceived", "ResponseStarted", "ResponseComplete"])

    def test_wrong_credentials(self) -> None:
        """A request without a user has one event, which says what was tried and not what it was."""
        for wait in (None, Deferred[None]()):
            self.sink = Kept()
            answer = self.serve(
                answers(b""), users=Users(None, wait), headers={"authorization": "Bearer s3cret"}
            )
            if wait is not None:
                wait.callback(None)
            self.failureResultOf(answer, Unauthorized)
            self.assertEqual(self.stages, ["ResponseStarted"])
            self.assertEqual(
                (self.last["user"], self.last["responseStatus"]),
                ({}, {"metadata": {}, "message": "Authentication failed, attempted: bearer", "code": 401}),
            )
            self.assertNotIn(b"s3cret", self.sink.events[0].json)

    def test_refused_by_its_head(self) -> None:
        """So has a request that is refused before anybody asks who it is from; others' 400s do not concern it."""
        auditor = self.auditor()

        def early(_request: Request) -> Coroutine[Any, Any, Response]:
            raise BadRequest("invalid timeout")

        async def late(request: Request) -> Response:
            raise BadRequest("no")

        request = Request(method="GET", path=POD, peer=Peer(address="", port=0))
        answer = Deferred.fromCoroutine(RefusedRequests(auditor).handle(request, early))
        self.failureResultOf(answer, BadRequest)
        self.assertEqual((self.stages, self.last["responseStatus"]),
                         (["ResponseStarted"], {"metadata": {}, "message": "invalid timeout", "code": 400}))
        self.failureResultOf(self.serve(late), BadRequest)
        self.assertEqual(self.stages, ["ResponseStarted", "RequestReceived", "ResponseComplete"])

    def test_no_room(self) -> None:
        """The last event of a long answer says what was sent in the end: there may be no room for it (AUDIT-21)."""
        body = b'{"kind":"ConfigMap","data":{"x":"%b"}}' % (b"y" * SHORT_BYTES)
        for level, pieces in ((METADATA, [body]), (REQUEST_RESPONSE, body)):
            answer = self.successResultOf(self.serve(answers(pieces, "application/json"), level=level))
            self.assertEqual(self.stages[-1], "RequestReceived")
            answer.end(Ending.NO_ROOM)
            status = self.last["responseStatus"]
            self.assertEqual((self.last["stage"], status["code"], status["reason"]),
                             ("ResponseComplete", 429, "TooManyRequests"))
            self.assertEqual(self.last.get("responseObject", {}).get("code", 429), 429)
            answer = self.successResultOf(self.serve(answers(pieces, "application/json"), level=level))
            answer.end(Ending.COMPLETE)
            self.assertEqual(self.last["responseStatus"]["code"], 200)
            self.assertEqual("responseObject" in self.last, level == REQUEST_RESPONSE)

    def test_deleted(self) -> None:
        """The details of a deletion's Status are in the event, at every level."""
        codec = surface("orch")[1].kind("v1", "Status")
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                  "details": {"name": "p", "kind": "pods", "uid": "u"}}
        protobuf = wrap("v1", "Status", codec.encode_protobuf(codec.normalise(status)))
        for body in (orjson.dumps(status), protobuf):
            self.successResultOf(self.serve(answers(body, "application/json"), method="DELETE"))
            expected = {"metadata": {}, "status": "Success", "details": status["details"], "code": 200}
            self.assertEqual(self.last["responseStatus"], expected)

    def test_strict(self) -> None:
        """A request whose first event is lost fails where that is asked for, and is counted."""
        for answer in (False, Deferred[bool]()):
            self.sink = Kept(answer)
            served = self.serve(answers(b""), query="a=b")
            if isinstance(answer, Deferred):
                self.assertNoResult(served)
                answer.callback(False)
            found = self.successResultOf(served)
            text = f'Internal Server Error: "{POD}?a=b": failed to store audit event\n'
            self.assertEqual((found.code, found.body), (500, text.encode()))
            self.assertEqual((self.stages, self.counts.rejected), (["RequestReceived"], 1))

    def test_the_end(self) -> None:
        """The backend is stopped when the last event has been made."""
        self.auditor().start()
        waiting: Deferred[None] = Deferred()

        async def work() -> None:
            await waiting

        self.made.finish(work())
        ended = Deferred.fromCoroutine(self.made.stop())
        self.assertNoResult(ended)
        waiting.callback(None)
        self.successResultOf(ended)
        self.assertEqual(self.sink.calls, ["start", "stop"])

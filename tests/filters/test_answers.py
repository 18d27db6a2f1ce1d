"""Headers common to all responses, and the handling of refusals and faults (reference REQ-22, ERR-40)."""
# covers: orchtw.filters.authentication

from __future__ import annotations

from collections.abc import Awaitable, Callable

import orjson
from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Forbidden, StatusError
from orchtw.filters.audit_id import AuditIdStage
from orchtw.filters.authentication import AuthenticationStage
from orchtw.filters.chain import Placed, line
from orchtw.filters.common_headers import CommonHeaders
from orchtw.filters.panic_recovery import PanicRecovery
from orchtw.metrics.authentication import Attempts
from orchtw.metrics.registry import Registry
from orchtw.request import Peer, Request, Response, UserInfo

USER = UserInfo(name="alice")


def refuse(_request: Request, error: StatusError) -> Response:
    return Response(code=error.code, body=orjson.dumps(error.to_status()))


class AnswersTests(SynchronousTestCase):
    """The stages `audit-id`, `common-headers` and `refusals` around a handler."""

    def setUp(self) -> None:
        self.raised: Exception | None = None

    async def handler(self, request: Request) -> Response:
        request.warnings.append("seen")
        if self.raised is not None:
            raise self.raised
        return Response()

    def serve(self, **headers: str) -> Deferred[Response]:
        stages = [
            Placed("audit-id", AuditIdStage()),
            Placed("common-headers", CommonHeaders()),
            Placed("panic-recovery", PanicRecovery(refuse)),
        ]
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        request = Request(method="GET", path="/x", headers=named, peer=Peer(address="", port=0))
        return Deferred.fromCoroutine(line(stages, self.handler)(request))

    def test_every_answer(self) -> None:
        """An answer has the audit id that the client asked for, the warnings, and may not be kept."""
        headers = dict(self.successResultOf(self.serve(audit_id="mine")).headers)
        common = {"Audit-Id": "mine", "Warning": '299 - "seen"', "Cache-Control": "no-cache, private"}
        self.assertEqual(headers, common)

    def test_refusal(self) -> None:
        """A StatusError becomes its Status; warnings and the audit id go with it."""
        self.raised = Forbidden.path("no")
        response = self.successResultOf(self.serve(audit_id="mine"))
        headers = dict(response.headers)
        self.assertEqual((response.code, headers["Audit-Id"], headers["Warning"]), (403, "mine", '299 - "seen"'))

    def test_fault(self) -> None:
        """Anything else is a 500 in plain text that says no more, with the audit id; it is logged once with its
        traceback, and the process goes on (reference REQ-30).
        """
        self.raised = RuntimeError("secret detail")
        response = self.successResultOf(self.serve())
        text = b"This request caused apiserver to panic. Look in the logs for details.\n"
        self.assertEqual((response.code, response.body), (500, text))
        self.assertEqual(response.content_type, "text/plain; charset=utf-8")
        self.assertIn("Audit-Id", dict(response.headers))
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)

    def test_cancelled(self) -> None:
        """A read whose client has left gets no answer, and is not a fault."""
        self.raised = CancelledError()
        self.failureResultOf(self.serve(), CancelledError)


class AuthenticationStageTests(SynchronousTestCase):
    """Authentication in the chain (`AuthenticationStage`)."""

    def test_both_users(self) -> None:
        """The user is set as requester and acting user, whether the authenticator is synchronous or not."""

        async def later(_request: Request) -> UserInfo | None:
            return USER

        ways: tuple[Callable[[Request], UserInfo | Awaitable[UserInfo | None]], ...] = (lambda _: USER, later)
        for authenticate in ways:
            request = Request(method="GET", path="/x", peer=Peer(address="", port=0))

            async def proceed(_request: Request) -> Response:
                return Response()

            authenticator = type("Fixed", (), {"authenticate": staticmethod(authenticate)})()
            stage = AuthenticationStage(authenticator, Attempts(Registry(), ()))
            self.successResultOf(Deferred.fromCoroutine(stage.handle(request, proceed)))
            self.assertEqual((request.authenticated, request.user), (USER, USER))

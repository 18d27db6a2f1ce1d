"""Screening of request bodies by the head alone, where that suffices (reference LIMIT-9)."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import Any

import orjson
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn.audiences import ForThisAPI
from orchtw.authn.bearer_token import BearerTokens
from orchtw.authn.method import ANONYMOUS, authenticated
from orchtw.authn.union import AuthenticatorUnion
from orchtw.authz.decision import Decision, UserRules
from orchtw.errors import StatusError
from orchtw.filters.audit_id import AuditIdStage
from orchtw.filters.authentication import AuthenticationStage
from orchtw.filters.chain import Placed, refused
from orchtw.filters.common_headers import CommonHeaders
from orchtw.filters.cors import CORS
from orchtw.filters.panic_recovery import PanicRecovery
from orchtw.filters.screen import Screen
from orchtw.filters.shutting_down import Doors
from orchtw.metrics.authentication import Attempts
from orchtw.metrics.registry import Registry
from orchtw.request import Peer, Request, RequestInfo, Response, UserInfo
from orchtw.rules.origins import AllowedOrigins

USER = authenticated(UserInfo(name="alice"))


class Tokens:
    """Knows one token; asks somebody about another."""

    def find(self, token: str) -> UserInfo | None | Awaitable[UserInfo | None]:
        return self.ask() if token == "later" else USER if token == "right" else None

    async def ask(self) -> UserInfo | None:
        return USER


class Allowing:
    """An authorizer that allows paths below /open, and takes its time about /later."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        self.asked.append((user.name, info.path))
        return self.late() if info.path == "/later" else Decision(info.path.startswith("/open"), "no rule")

    async def late(self) -> Decision:
        return Decision(True, "")

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        return UserRules()


def refuse(_request: Request, error: StatusError) -> Response:
    return Response(code=error.code, body=orjson.dumps(error.to_status()))


class ScreenTests(SynchronousTestCase):
    """Screening by the head (`Screen`)."""

    def setUp(self) -> None:
        self.authorizer = Allowing()
        self.union = AuthenticatorUnion([BearerTokens([ForThisAPI(Tokens(), ())])], anonymous=True)
        stages = [
            Placed("cors", CORS(AllowedOrigins(["^https://console$"]))),
            Placed("audit-id", AuditIdStage()),
            Placed("common-headers", CommonHeaders()),
            Placed("panic-recovery", PanicRecovery(refuse)),
            Placed("authentication", AuthenticationStage(self.union, Attempts(Registry(), ()))),
        ]
        self.screen = Screen(self.union, self.authorizer, partial(refused, stages), Doors(open=True))

    def see(self, path: str = "/x", **headers: str) -> Response | bool:
        given: dict[str, Any] = {name.replace("_", "-"): value for name, value in headers.items()}
        peer = Peer(address="1.2.3.4", port=5)
        verdict = self.screen(Request(method="POST", path=path, headers=given, peer=peer))
        if isinstance(verdict, bool):
            return verdict
        response: Response = self.successResultOf(Deferred.fromCoroutine(verdict))
        return response

    def test_known(self) -> None:
        """A user with credentials is known; what they may do is for the stages to say."""
        self.assertIs(self.see(authorization="Bearer right"), True)
        self.assertEqual(self.authorizer.asked, [])

    def test_wrong_credentials(self) -> None:
        """Wrong credentials are the 401 that the stages would give, with the headers that every answer has."""
        response = self.see(authorization="Bearer wrong", audit_id="mine")
        assert isinstance(response, Response)
        self.assertEqual(response.code, 401)
        common = {"Audit-Id": "mine", "Cache-Control": "no-cache, private", "Vary": "Origin"}
        self.assertEqual(dict(response.headers), common)

    def test_other_origin(self) -> None:
        """Pages of allowed origins may read the refusal."""
        response = self.see(authorization="Bearer wrong", origin="https://console")
        assert isinstance(response, Response)
        self.assertEqual(dict(response.headers)["Access-Control-Allow-Origin"], "https://console")

    def test_anonymous(self) -> None:
        """An anonymous user gets the 403 that the stages would give, or is anonymous still."""
        response = self.see()
        assert isinstance(response, Response)
        self.assertEqual(response.code, 403)
        self.assertIn(ANONYMOUS.name, bytes(response.body).decode())  # type: ignore[arg-type]
        self.assertIs(self.see("/open/x"), False)

    def test_impersonating(self) -> None:
        """Impersonation by an anonymous user is not checked at the head: the body is read as the anonymous user's."""
        self.assertIs(self.see(impersonate_user="bob"), False)
        self.assertEqual(self.authorizer.asked, [])

    def test_not_waited_for(self) -> None:
        """Nobody is waited for: whose credentials or rights take time to look up counts as anonymous so far."""
        self.assertIs(self.see(authorization="Bearer later"), False)
        self.assertIs(self.see("/later"), False)

    def test_bad_path(self) -> None:
        """A head that nothing can be made of is refused as it would be later, or passed on; it is never a fault."""
        for path in ("/api/v1/namespaces/%ZZ", "*", "//", "/api"):
            self.assertIsInstance(self.see(path, authorization="Bearer right"), bool)

"""Impersonation (reference AUTHN-40)."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authz.decision import ALLOWED, Decision
from orchtw.errors import BadRequest, Forbidden
from orchtw.filters.impersonation import ImpersonationStage
from orchtw.naming import Naming
from orchtw.request import Peer, Request, RequestInfo, Response, UserInfo


class Recorder:
    """Allows everything but what is denied, and keeps what it was asked."""

    def __init__(self, *denied: str) -> None:
        self.denied = denied
        self.asked: list[tuple[str, str, str, str, str]] = []

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        self.asked.append((info.group, info.resource, info.subresource, info.namespace, info.name))
        return Decision(False) if info.name in self.denied else ALLOWED


class ImpersonationTests(SynchronousTestCase):
    """`ImpersonationStage`."""

    async def proceed(self, _request: Request) -> Response:
        return Response()

    def passed(self, *denied: str, **headers: str) -> tuple[Request, Recorder]:
        recorder = Recorder(*denied)
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        bob = UserInfo(name="bob")
        request = Request(
            method="GET", path="/x", headers=named, peer=Peer(address="", port=0), authenticated=bob, user=bob
        )
        stage = ImpersonationStage(recorder, Naming.orch())
        self.successResultOf(Deferred.fromCoroutine(stage.handle(request, self.proceed)))
        return request, recorder

    def test_without_headers(self) -> None:
        """Nobody is asked, nothing changes."""
        request, recorder = self.passed(accept="x")
        self.assertEqual((request.user, recorder.asked), (UserInfo(name="bob"), []))

    def test_requester_is_kept(self) -> None:
        """The request acts as the named user, and still says whose credentials it came with."""
        request, _ = self.passed(impersonate_user="ann")
        assert request.user is not None and request.authenticated is not None
        self.assertEqual((request.user.name, request.authenticated.name), ("ann", "bob"))

    def test_user_and_groups(self) -> None:
        """Each part is authorized in order; the headers are gone afterwards."""
        request, recorder = self.passed(
            impersonate_user="ann", impersonate_group="a, b", impersonate_extra_Scopes="x", impersonate_uid="7"
        )
        group = "authentication.orch.io"
        self.assertEqual(
            recorder.asked,
            [
                ("", "users", "", "", "ann"),
                ("", "groups", "", "", "a"),
                ("", "groups", "", "", "b"),
                (group, "userextras", "scopes", "", "x"),
                (group, "uids", "", "", "7"),
            ],
        )
        expected = UserInfo(
            name="ann", uid="7", groups=("a", "b", "system:authenticated"), extra={"scopes": ("x",)}
        )
        self.assertEqual((request.user, request.headers), (expected, {}))

    def test_service_account(self) -> None:
        """A service account is asked for as one, and gets its groups when none are named."""
        request, recorder = self.passed(impersonate_user="system:serviceaccount:ns:sa")
        self.assertEqual(recorder.asked, [("", "serviceaccounts", "", "ns", "sa")])
        assert request.user is not None
        self.assertEqual(
            request.user.groups,
            ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
        )

    def test_anonymous(self) -> None:
        """The anonymous user is unauthenticated."""
        request, _ = self.passed(impersonate_user="system:anonymous")
        assert request.user is not None
        self.assertEqual(request.user.groups, ("system:unauthenticated",))

    def test_denied(self) -> None:
        """One denial is a 403 that names user, verb and what was denied."""
        stage = ImpersonationStage(Recorder("root"), Naming.orch())
        request = Request(
            method="GET", path="/x", headers={"impersonate-user": "root"}, peer=Peer(address="", port=0),
            user=UserInfo(name="bob"),
        )
        error = self.failureResultOf(Deferred.fromCoroutine(stage.handle(request, self.proceed)), Forbidden).value
        self.assertEqual(
            error.message,
            'users "root" is forbidden: User "bob" cannot impersonate resource "users" in API group "" at the '
            "cluster scope",
        )

    def test_without_user(self) -> None:
        """Groups, extra values or a uid without a user are a 400 that names them (reference AUTHN-40)."""
        for header, text in (("impersonate-group", "a, b"), ("impersonate-uid", "7"), ("impersonate-extra-k", "v")):
            request = Request(method="GET", path="/x", headers={header: text}, peer=Peer(address="", port=0))
            stage = ImpersonationStage(Recorder(), Naming.orch())
            error = self.assertRaises(BadRequest, stage.handle, request, self.proceed)
            named = {"impersonate-group": "a b", "impersonate-uid": "7", "impersonate-extra-k": "k"}[header]
            self.assertEqual(error.message, f"requested [{named}] without impersonating a user")

    def test_not_ascii(self) -> None:
        """Names are UTF-8, of which the head's characters are the bytes; what is none is replaced."""
        user = "J\u00fcrgen".encode().decode("latin-1")
        request, recorder = self.passed(impersonate_user=user, impersonate_group="\xfc", impersonate_uid="\xc3")
        names = [name for *_, name in recorder.asked]
        self.assertEqual(names, ["J\u00fcrgen", "\ufffd", "\ufffd"])
        assert request.user is not None
        self.assertEqual(request.user.name, "J\u00fcrgen")

"""User impersonation (reference AUTHN-40)."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authz.decision import ALLOWED, Decision, UserRules
from orchtw.errors import Forbidden
from orchtw.filters.impersonation import ImpersonationStage
from orchtw.naming.naming import Naming
from orchtw.request import Peer, Request, RequestInfo, Response, UserInfo


class Recorder:
    """Authorizer that allows all requests but those denied, and records its questions."""

    def __init__(self, *denied: str) -> None:
        self.denied = denied
        self.asked: list[tuple[str, str, str, str, str]] = []

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        self.asked.append((info.group, info.resource, info.subresource, info.namespace, info.name))
        return Decision(False) if info.name in self.denied else ALLOWED

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        return UserRules()


class ImpersonationTests(SynchronousTestCase):
    """Impersonation in the chain (`ImpersonationStage`)."""

    async def proceed(self, _request: Request) -> Response:
        return Response()

    def passed(self, *denied: str, **headers: str | list[str]) -> tuple[Request, Recorder]:
        recorder = Recorder(*denied)
        lines = {name.replace("_", "-"): [text] if isinstance(text, str) else text for name, text in headers.items()}
        named = {name: ", ".join(texts) for name, texts in lines.items()}
        bob = UserInfo(name="bob")
        request = Request(
            method="GET", path="/x", headers=named, repeated=lines, peer=Peer(address="", port=0), authenticated=bob,
            user=bob,
        )  # fmt: skip
        stage = ImpersonationStage(recorder, Naming.orch())
        self.successResultOf(Deferred.fromCoroutine(stage.handle(request, self.proceed)))
        return request, recorder

    def test_without_headers(self) -> None:
        """Without the headers no authorizer is asked and nothing changes."""
        request, recorder = self.passed(accept="x")
        self.assertEqual((request.user, recorder.asked), (UserInfo(name="bob"), []))

    def test_requester_is_kept(self) -> None:
        """The request acts as the named user, and still records the requester (reference AUTHN-43)."""
        request, _ = self.passed(impersonate_user="ann")
        assert request.user is not None and request.authenticated is not None
        self.assertEqual((request.user.name, request.authenticated.name), ("ann", "bob"))

    def test_user_and_groups(self) -> None:
        """Each part is authorized in order; the headers are removed afterwards (reference AUTHN-43)."""
        request, recorder = self.passed(
            impersonate_user="ann", impersonate_group=["a", "b"], impersonate_extra_Scopes="x", impersonate_uid="7"
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
        """A service account is authorized as one, and gets its groups when none are named."""
        request, recorder = self.passed(impersonate_user="system:serviceaccount:ns:sa")
        self.assertEqual(recorder.asked, [("", "serviceaccounts", "", "ns", "sa")])
        assert request.user is not None
        self.assertEqual(
            request.user.groups,
            ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
        )

    def test_lines(self) -> None:
        """Each line is one value, commas and all, and an empty one is one too (reference AUTHN-40)."""
        request, recorder = self.passed(
            impersonate_user="CN=ann,O=x",
            impersonate_group=["CN=a,O=x", ""],
            **{"impersonate_extra_acme.com%2fproject": ["a, b", "c"]},
        )
        assert request.user is not None
        self.assertEqual(request.user.name, "CN=ann,O=x")
        self.assertEqual(request.user.groups, ("CN=a,O=x", "", "system:authenticated"))
        self.assertEqual(request.user.extra, {"acme.com/project": ("a, b", "c")})
        self.assertEqual([name for *_, name in recorder.asked], ["CN=ann,O=x", "CN=a,O=x", "", "a, b", "c"])
        self.assertEqual(request.lines("impersonate-group"), ())

    def test_no_service_account(self) -> None:
        """A name that no service account can have is a user's (reference AUTHN-42)."""
        for name in ("a", "a:b:c", ":b", "a:", "A:b", "a:b_c"):
            request, recorder = self.passed(impersonate_user=f"system:serviceaccount:{name}")
            assert request.user is not None
            self.assertEqual(recorder.asked, [("", "users", "", "", f"system:serviceaccount:{name}")])
            self.assertEqual(request.user.groups, ("system:authenticated",))

    def test_every_part_is_needed(self) -> None:
        """A requester who may not impersonate one part impersonates none (reference AUTHN-41)."""
        headers = {
            "impersonate-user": "ann", "impersonate-group": "dev", "impersonate-extra-scope": "read",
            "impersonate-uid": "7",
        }  # fmt: skip
        for denied, what in (
            ("ann", 'users "ann" is forbidden: User "bob" cannot impersonate resource "users" in API group ""'),
            ("dev", 'groups "dev" is forbidden: User "bob" cannot impersonate resource "groups" in API group ""'),
            (
                "read",
                'userextras.authentication.orch.io "read" is forbidden: User "bob" cannot impersonate resource '
                '"userextras/scope" in API group "authentication.orch.io"',
            ),
            (
                "7",
                'uids.authentication.orch.io "7" is forbidden: User "bob" cannot impersonate resource "uids" in API '
                'group "authentication.orch.io"',
            ),
        ):
            bob = UserInfo(name="bob")
            request = Request(method="GET", path="/x", headers=headers, peer=Peer(address="", port=0), user=bob)
            stage = ImpersonationStage(Recorder(denied), Naming.orch())
            asked = Deferred.fromCoroutine(stage.handle(request, self.proceed))
            error = self.failureResultOf(asked, Forbidden).value
            self.assertEqual(error.message, f"{what} at the cluster scope")
            self.assertEqual(request.user, bob)

    def test_anonymous(self) -> None:
        """The anonymous user is unauthenticated."""
        request, _ = self.passed(impersonate_user="system:anonymous")
        assert request.user is not None
        self.assertEqual(request.user.groups, ("system:unauthenticated",))
        request, _ = self.passed(impersonate_user="system:anonymous", impersonate_group="system:authenticated")
        assert request.user is not None
        self.assertEqual(request.user.groups, ("system:authenticated", "system:unauthenticated"))

    def test_denied(self) -> None:
        """A denial is a 403 that names the user, the verb and the denied part."""
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
        """Groups, extra values or a uid without a user are a plain 500 that shows them (reference AUTHN-40)."""
        api = "authentication.orch.io/v1"
        cases = {
            "impersonate-group": ("<a>", "{Group  &lt;a&gt;    }"),
            "impersonate-uid": ("7", f"{{UID  7  {api}  }}"),
            "impersonate-extra-k": ("v", f"{{UserExtra  v  {api}  k}}"),
        }
        for header, (value, shown) in cases.items():
            request = Request(
                method="GET", path="/x", query="a=1&b", headers={header: value}, peer=Peer(address="", port=0)
            )
            stage = ImpersonationStage(Recorder(), Naming.orch())
            response = self.successResultOf(Deferred.fromCoroutine(stage.handle(request, self.proceed)))
            text = f'Internal Server Error: "/x?a=1&amp;b": requested [{shown}] without impersonating a user\n'
            self.assertEqual(
                (response.code, response.content_type, response.body),
                (500, "text/plain; charset=utf-8", text.encode()),
            )

    def test_not_ascii(self) -> None:
        """Header characters are read as the bytes of UTF-8 names; invalid UTF-8 is replaced."""
        user = "J\u00fcrgen".encode().decode("latin-1")
        request, recorder = self.passed(impersonate_user=user, impersonate_group="\xfc", impersonate_uid="\xc3")
        names = [name for *_, name in recorder.asked]
        self.assertEqual(names, ["J\u00fcrgen", "\ufffd", "\ufffd"])
        assert request.user is not None
        self.assertEqual(request.user.name, "J\u00fcrgen")

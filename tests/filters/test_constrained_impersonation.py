"""Impersonation in modes with rights of their own (reference AUTHN-66)."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authz.decision import ALLOWED, NO_OPINION, Decision, UserRules
from orchtw.errors import BadRequest, Forbidden
from orchtw.filters.constrained_impersonation import ConstrainedImpersonationStage, node_of
from orchtw.naming.naming import Naming
from orchtw.request import Peer, Request, RequestInfo, Response, UserInfo

OWN = "authentication.orch.io"
INFO = RequestInfo(is_resource=True, verb="get", path="", namespace="ns", resource="pods", name="p", version="v1")
BOB = UserInfo(name="bob")
AGENT = UserInfo(
    name="system:serviceaccount:ns:agent", extra={f"{OWN}/node-name": ("n1",), f"{OWN}/pod-name": ("x",)}
)
ON = "get pods ns/p"


class Rights:
    """Authorizer that allows what it is given, and records its questions."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed
        self.asked: list[str] = []
        self.users: list[UserInfo] = []

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        place = f"{info.namespace}/{info.name}" if info.namespace else info.name
        group = f" {info.group}" if info.group else ""
        asked = f"{info.verb} {resource} {place}{group}"
        self.asked.append(asked)
        self.users.append(user)
        return ALLOWED if asked in self.allowed or "*" in self.allowed else NO_OPINION

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        return UserRules()


def on(mode: str) -> str:
    return f"impersonate-on:{mode}:{ON}"


def right(mode: str, resource: str, name: str) -> str:
    return f"impersonate:{mode} {resource} {name} {OWN}"


class ConstrainedImpersonationTests(SynchronousTestCase):
    async def proceed(self, _request: Request) -> Response:
        return Response()

    def asked(self, rights: Rights, requester: UserInfo, **headers: str | list[str]) -> Deferred[Response]:
        lines = {name.replace("_", "-"): [text] if isinstance(text, str) else text for name, text in headers.items()}
        named = {name: ", ".join(texts) for name, texts in lines.items()}
        self.request = Request(
            method="GET", path="/x", headers=named, repeated=lines, peer=Peer(address="", port=0),
            authenticated=requester, user=requester, info=INFO,
        )  # fmt: skip
        stage = ConstrainedImpersonationStage(rights, Naming.orch())
        return Deferred.fromCoroutine(stage.handle(self.request, self.proceed))

    def acts(self, rights: Rights, requester: UserInfo = BOB, /, **headers: str | list[str]) -> UserInfo:
        self.successResultOf(self.asked(rights, requester, **headers))
        assert self.request.user is not None
        return self.request.user

    def refused(self, rights: Rights, requester: UserInfo = BOB, /, **headers: str | list[str]) -> str:
        error = self.failureResultOf(self.asked(rights, requester, **headers), Forbidden).value
        self.assertEqual(self.request.user, requester)
        return str(error.message)

    def test_user_info(self) -> None:
        """A user needs the right to each part, and to the request in the mode (reference AUTHN-66)."""
        mode = "user-info"
        rights = Rights(
            on(mode), right(mode, "users", "ann"), right(mode, "uids", "7"), right(mode, "groups", "dev"),
            right(mode, "userextras/acme.com/k", "v"),
        )  # fmt: skip
        headers = {"impersonate_extra_acme.com%2fk": "v"}
        user = self.acts(rights, impersonate_user="ann", impersonate_uid="7", impersonate_group="dev", **headers)
        expected = UserInfo(
            name="ann", uid="7", groups=("dev", "system:authenticated"), extra={"acme.com/k": ("v",)}
        )
        self.assertEqual(user, expected)
        self.assertEqual(rights.asked, list(rights.allowed))
        for missing in rights.allowed:
            fewer = Rights(*(each for each in rights.allowed if each != missing))
            self.refused(fewer, impersonate_user="ann", impersonate_uid="7", impersonate_group="dev", **headers)

    def test_first_refusal(self) -> None:
        """If no mode and no right of old allows it, the first mode's refusal is the answer (reference AUTHN-66)."""
        rights = Rights()
        self.assertEqual(
            self.refused(rights, impersonate_user="ann"),
            'pods "p" is forbidden: User "bob" cannot impersonate-on:user-info:get resource "pods" in API group "" '
            'in the namespace "ns"',
        )
        self.assertEqual(rights.asked, [on("user-info"), "impersonate users ann"])

    def test_right_of_old(self) -> None:
        """The right to impersonate at all is enough, as before (reference AUTHN-66)."""
        user = self.acts(Rights("impersonate users ann"), impersonate_user="ann")
        self.assertEqual(user.groups, ("system:authenticated",))
        account = "system:serviceaccount:ns:sa"
        user = self.acts(Rights("impersonate serviceaccounts ns/sa"), impersonate_user=account)
        self.assertEqual(user.name, account)

    def test_service_account(self) -> None:
        """A service account has a mode of its own, and its own groups (reference AUTHN-66)."""
        mode = "serviceaccount"
        rights = Rights(on(mode), right(mode, "serviceaccounts", "ns/sa"))
        user = self.acts(rights, impersonate_user="system:serviceaccount:ns:sa")
        self.assertEqual(
            user.groups, ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated")
        )
        self.refused(rights, impersonate_user="system:serviceaccount:ns:sa", impersonate_group="g")
        self.assertNotIn(on("user-info"), rights.asked)

    def test_arbitrary_node(self) -> None:
        """A node has the group of nodes and no other (reference AUTHN-66)."""
        mode = "arbitrary-node"
        rights = Rights(on(mode), right(mode, "nodes", "n1"))
        user = self.acts(rights, impersonate_user="system:node:n1")
        self.assertEqual(user.groups, ("system:nodes", "system:authenticated"))
        self.assertEqual(rights.asked, list(rights.allowed))

    def test_associated_node(self) -> None:
        """An account on the node is asked for by the names of its extra values, on any node (reference AUTHN-66)."""
        mode = "associated-node"
        rights = Rights(on(mode), right(mode, "nodes", "*"))
        user = self.acts(rights, AGENT, impersonate_user="system:node:n1")
        self.assertEqual((user.name, user.groups[0]), ("system:node:n1", "system:nodes"))
        keys = {f"{OWN}/associated-node-keys": (f"{OWN}/node-name", f"{OWN}/pod-name")}
        self.assertEqual([dict(each.extra) for each in rights.users], [keys, keys])
        for requester, node in ((AGENT, "n2"), (UserInfo(name="bob", extra=AGENT.extra), "n1")):
            others = Rights(*rights.allowed)
            self.refused(others, requester, impersonate_user=f"system:node:{node}")
            self.assertNotIn(on(mode), others.asked)

    def test_many(self) -> None:
        """From four groups or values on, a right to all of them is asked for first (reference AUTHN-66)."""
        mode = "user-info"
        known = (on(mode), right(mode, "users", "ann"))
        rights = Rights(*known, right(mode, "groups", "*"), right(mode, "userextras/*", "*"))
        extra = {"impersonate_extra_acme.com%2fk": ["1", "2", "3", "4"]}
        self.acts(rights, impersonate_user="ann", impersonate_group=list("abcd"), **extra)
        self.assertEqual(rights.asked, list(rights.allowed))
        each = Rights(*known, *(right(mode, "groups", name) for name in "abcd"))
        self.acts(each, impersonate_user="ann", impersonate_group=list("abcd"))
        self.assertIn("cannot", self.refused(rights, impersonate_user="ann", impersonate_group=list("abc")))

    def test_never(self) -> None:
        """Some groups and extra values are refused in every mode (reference AUTHN-66)."""
        known = (on("user-info"), right("user-info", "users", "ann"))
        cases: dict[str, dict[str, str | list[str]]] = {
            "impersonating the empty string group is not allowed": {"impersonate_group": ["a", ""]},
            "impersonating the system:masters group is not allowed": {"impersonate_group": "system:masters"},
            "impersonating the empty string key in extra is not allowed": {"impersonate_extra_": "v"},
            'extra.key: Invalid value: "scopes": must be a domain-prefixed path': {"impersonate_extra_scopes": "v"},
            'extra.key: Invalid value: "!": a lowercase RFC 1123': {"impersonate_extra_!%2fk": "v"},
            'extra.key: Invalid value: "<": Invalid path': {"impersonate_extra_a%2f%3c": "v"},
            "impersonating the empty string value in extra is not allowed": {"impersonate_extra_a%2fk": ""},
        }
        for why, headers in cases.items():
            with self.subTest(why):
                rights = Rights(*known)
                self.assertIn(why, self.refused(rights, impersonate_user="ann", **headers))

    def test_without_user(self) -> None:
        """Parts without a user are a 400 that shows them (reference AUTHN-66)."""
        asked = self.asked(Rights(), BOB, impersonate_group=["a", "b"], **{"impersonate_extra_k": "v"})
        error = self.failureResultOf(asked, BadRequest).value
        self.assertEqual(
            error.message,
            'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"a", "b"}, '
            'Extra:map[string][]string{"k":[]string{"v"}}} without impersonating a user name',
        )

    def test_nodes(self) -> None:
        """A node's name is one that a Node can have (reference AUTHN-66)."""
        cases = {"system:node:n.x": "n.x", "system:node:": None, "system:node:A": None, "node": None}
        self.assertEqual({name: node_of(name) for name in cases}, cases)

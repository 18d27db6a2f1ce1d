"""Decisions under the default roles, unions of authorizers, and the texts of refusals."""
# covers: orchtw.authz.decision, orchtw.authz.union

from __future__ import annotations

from collections.abc import Awaitable
from random import Random
from typing import Any, cast

from twisted.application.service import MultiService
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn.method import ANONYMOUS
from orchtw.authz.decision import ALLOWED, EVERYTHING, NO_OPINION, AuthzHost, Decision, PathRule, UserRules
from orchtw.authz.fixed import AlwaysAllow
from orchtw.authz.node import NodeAuthorizer
from orchtw.authz.refusal import forbidden
from orchtw.authz.union import AuthorizerUnion
from orchtw.authz.union import chain as chain_of_flags
from orchtw.config import Config
from orchtw.naming.naming import Naming
from orchtw.request import RequestInfo, UserInfo
from tests.authz.given_roles import GivenRoles

HOST = AuthzHost(
    naming=Naming.orch(),
    clock=Clock(),
    random=Random(1),
    targets=cast(Any, None),
    caller=cast(Any, None),
    services=MultiService(),
    roles=GivenRoles.bootstrap(Naming.orch()),
)
MASTER = UserInfo(name="root", groups=("system:masters", "system:authenticated"))
BOB = UserInfo(name="bob", groups=("system:authenticated",))
PODS = RequestInfo(
    is_resource=True, verb="get", path="/api/v1/namespaces/default/pods/x", version="v1", namespace="default",
    resource="pods", name="x",
)  # fmt: skip


def path(path: str, verb: str = "get") -> RequestInfo:
    """Return the request information of a non-resource request."""
    return RequestInfo(is_resource=False, verb=verb, path=path)


def chain(*modes: str) -> AuthorizerUnion:
    """Return the union of authorizers for these modes."""
    return chain_of_flags(HOST, Config.of(authorization_mode=modes).authz)


def allowed(user: UserInfo, info: RequestInfo, modes: tuple[str, ...] = ("RBAC",)) -> Any:
    """Report whether the modes let the user do it."""
    decision = chain(*modes).authorize(user, info)
    assert isinstance(decision, Decision)
    return decision.allowed


class ChainTests(SynchronousTestCase):
    def test_masters(self) -> None:
        """Members of system:masters may do everything under every mode, even AlwaysDeny (reference AUTHZ-8)."""
        for modes in (("AlwaysAllow",), ("AlwaysDeny",), ("RBAC",), ("AlwaysDeny", "RBAC")):
            self.assertTrue(allowed(MASTER, PODS, modes))
            self.assertTrue(allowed(MASTER, path("/metrics", "delete"), modes))

    def test_others_are_refused(self) -> None:
        """Everybody else is refused every resource under the default modes."""
        for user in (BOB, ANONYMOUS, UserInfo(name="system:masters", groups=("system:masters2",))):
            self.assertIs(allowed(user, PODS), None)

    def test_public_paths(self) -> None:
        """Health and version answer everybody, as role system:public-info-viewer grants (reference ROLE-5)."""
        for name in ("/healthz", "/livez", "/readyz", "/version", "/version/"):
            self.assertTrue(allowed(ANONYMOUS, path(name)) and allowed(BOB, path(name)))
            self.assertFalse(allowed(ANONYMOUS, path(name, "post")))

    def test_discovery_paths(self) -> None:
        """Discovery answers authenticated users only, as role system:discovery grants (reference ROLE-3)."""
        for name in ("/api", "/api/", "/api/v1", "/apis", "/apis/apps/v1", "/openapi/v2"):
            self.assertTrue(allowed(BOB, path(name)), name)
            self.assertFalse(allowed(ANONYMOUS, path(name)), name)
            self.assertFalse(allowed(BOB, path(name, "post")), name)

    def test_other_paths(self) -> None:
        """Single checks, the index and metrics are for masters (reference ROLE-5)."""
        for name in ("/", "/healthz/etcd", "/readyz/ping", "/metrics", "/apisx", "/version/x"):
            self.assertFalse(allowed(BOB, path(name)), name)

    def test_nobody(self) -> None:
        """A user without either group may not even see the version."""
        self.assertFalse(allowed(UserInfo(name="x"), path("/version")))

    def test_fixed_modes(self) -> None:
        """AlwaysAllow allows every request; AlwaysDeny denies every one, with its reason (reference AUTHZ-9)."""
        self.assertTrue(allowed(BOB, PODS, ("AlwaysAllow",)))
        decision = chain("AlwaysDeny").authorize(BOB, PODS)
        self.assertEqual(decision, Decision(None, "Everything is forbidden."))


class Authorizer:
    """An authorizer with a fixed answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        """Return the fixed answer."""
        answer: Decision | Awaitable[Decision] = self.answer
        return answer

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return incomplete rules that allow one path."""
        return UserRules(paths=(PathRule(verbs=("get",), paths=("/x",)),), incomplete=True, error="cannot list")


class UnionTests(SynchronousTestCase):
    def ask(self, *answers: Any) -> Any:
        """Return the joint decision of authorizers with these answers."""
        return AuthorizerUnion([Authorizer(answer) for answer in answers]).authorize(BOB, PODS)

    def test_first_decides(self) -> None:
        """The first that allows or denies decides (reference AUTHZ-5)."""
        denied = Decision(False, "no")
        self.assertEqual(self.ask(NO_OPINION, ALLOWED, denied), ALLOWED)
        self.assertEqual(self.ask(NO_OPINION, denied, ALLOWED), denied)

    def test_no_opinion(self) -> None:
        """If no authorizer has an opinion, neither has the union, which gives all reasons (reference AUTHZ-5)."""
        self.assertEqual(self.ask(Decision(None, "a"), NO_OPINION, Decision(None, "b")), Decision(None, "a\nb"))
        self.assertEqual(self.ask(), Decision(None))

    def test_errors(self) -> None:
        """An error means no opinion, and a refusal lists the errors (reference AUTHZ-5)."""
        lost, late = Decision(None, error="lost"), Decision(None, error="late")
        self.assertEqual(self.ask(lost, ALLOWED), ALLOWED)
        self.assertEqual(self.ask(Decision(None, "a"), lost), Decision(None, "a", "lost"))
        self.assertEqual(self.ask(Decision(None, "a"), lost).why, "a\nlost")
        self.assertEqual(self.ask(lost, late, lost).error, "[lost, late]")

    def test_later(self) -> None:
        """An authorizer that takes time counts like one that does not."""
        for first, rest, expected in (
            (ALLOWED, (Decision(False),), ALLOWED),
            (NO_OPINION, (ALLOWED,), ALLOWED),
            (Decision(None, "a"), (Decision(None, "b"),), Decision(None, "a\nb")),
        ):
            asked: Deferred[Decision] = Deferred()
            done = Deferred.fromCoroutine(self.ask(asked, *rest))
            self.assertNoResult(done)
            asked.callback(first)
            self.assertEqual(self.successResultOf(done), expected)


class LastingTests(SynchronousTestCase):
    """Decisions that can be repeated without asking again (`decision.Lasting`)."""

    def lasts(self, user: UserInfo, info: RequestInfo, *modes: str) -> bool | None:
        """Report whether a decision lasts as long as nothing changes; None: it has to be made each time."""
        union = chain(*modes)
        union.authorize(user, info)
        stands = union.lasts(user, info)
        return None if stands is None else all(holds() for holds in stands)

    def test_modes(self) -> None:
        """Administrators' and RBAC's allowances last; refusals, and what other modes may say first, do not."""
        self.assertEqual(self.lasts(MASTER, PODS, "RBAC"), True)
        self.assertEqual(self.lasts(BOB, PODS, "AlwaysAllow"), True)
        self.assertIsNone(self.lasts(BOB, PODS, "RBAC"))
        self.assertIsNone(self.lasts(BOB, PODS, "AlwaysDeny", "AlwaysAllow"))
        self.assertIsNone(self.lasts(BOB, PODS, "AlwaysDeny"))

    def test_nodes(self) -> None:
        """The rights of a node depend on what runs on it, and are decided each time."""
        node = UserInfo(name="system:node:a", groups=("system:nodes", "system:authenticated"))
        modes = NodeAuthorizer(cast(Any, None), Naming.orch())
        self.assertEqual((modes.lasts(BOB, PODS), modes.lasts(node, PODS)), ((), None))

    def test_unknown(self) -> None:
        """An authorizer that says nothing of how long, such as a plugin's, is asked each time."""
        union = AuthorizerUnion([Authorizer(ALLOWED)])
        self.assertIsNone(union.lasts(BOB, PODS))
        self.assertIsNone(AuthorizerUnion([Authorizer(NO_OPINION), AlwaysAllow()]).lasts(BOB, PODS))
        self.assertEqual(AuthorizerUnion([AlwaysAllow(), Authorizer(NO_OPINION)]).lasts(BOB, PODS), ())


class RulesTests(SynchronousTestCase):
    def test_oneself(self) -> None:
        """Every authenticated user may ask about himself, as role system:basic-user grants (reference ROLE-4)."""
        for plural in ("selfsubjectaccessreviews", "selfsubjectrulesreviews"):
            for user, group, may in (
                (BOB, "authorization.orch.io", True),
                (ANONYMOUS, "authorization.orch.io", False),
                (BOB, "authorization.k8s.io", False),
            ):
                asked = RequestInfo(is_resource=True, verb="create", path="", group=group, resource=plural)
                self.assertIs(bool(allowed(user, asked)), may)

    def test_the_other_vocabulary(self) -> None:
        """A refusal of a group named in the other vocabulary says which vocabulary to start with."""
        plural = "selfsubjectaccessreviews"
        asked = RequestInfo(is_resource=True, verb="create", path="", group="authorization.k8s.io", resource=plural)
        decision = chain("RBAC").authorize(BOB, asked)
        assert isinstance(decision, Decision)
        self.assertIn("start it with --vocabulary kubernetes", decision.reason)

    def test_rules_agree_with_decisions(self) -> None:
        """The rules in a rules review are allowed by the authorizer."""
        rules = chain("RBAC").rules_for(BOB, "default")
        reviews = next(each for each in rules.resources if "selfsubjectrulesreviews" in each.resources)
        self.assertEqual((reviews.verbs, reviews.groups), (("create",), ("authorization.orch.io",)))
        for name in {path for rule in rules.paths for path in rule.paths}:
            self.assertTrue(allowed(BOB, path(name.replace("*", "x"))), name)
        self.assertEqual(chain("RBAC").rules_for(MASTER, "default").resources[0], EVERYTHING.resources[0])
        self.assertEqual(chain("AlwaysDeny").rules_for(BOB, "default"), UserRules())

    def test_joined(self) -> None:
        """The rules of all modes count, and so do the reasons why they may not be all."""
        rules = AuthorizerUnion([Authorizer(None), Authorizer(None)]).rules_for(BOB, "default")
        self.assertEqual((len(rules.paths), rules.incomplete, rules.error), (2, True, "cannot list"))


class RefusalTests(SynchronousTestCase):
    def message(self, reason: str = "", **more: Any) -> str:
        """The text of a refusal of a resource request."""
        info = RequestInfo(is_resource=True, path="", **more)
        return forbidden(UserInfo(name="bob"), info, reason).message

    def test_texts(self) -> None:
        """The texts of reference ERR-26, word for word."""
        self.assertEqual(
            self.message(verb="list", resource="nodes"),
            'nodes is forbidden: User "bob" cannot list resource "nodes" in API group "" at the cluster scope',
        )
        self.assertEqual(
            self.message(verb="get", resource="pods", name="x", namespace="default"),
            'pods "x" is forbidden: User "bob" cannot get resource "pods" in API group "" in the namespace "default"',
        )
        self.assertEqual(
            self.message(
                verb="get", resource="deployments", subresource="scale", group="apps", name="x", namespace="default"
            ),
            'deployments.apps "x" is forbidden: User "bob" cannot get resource "deployments/scale" in API group '
            '"apps" in the namespace "default"',
        )
        self.assertTrue(self.message("why", verb="list", resource="nodes").endswith("at the cluster scope: why"))

    def test_details(self) -> None:
        """Details name resource, group and object (reference ERR-1, ERR-2)."""
        info = RequestInfo(is_resource=True, verb="get", path="", group="apps", resource="deployments", name="x")
        self.assertEqual(forbidden(BOB, info).details, {"name": "x", "group": "apps", "kind": "deployments"})

    def test_path(self) -> None:
        """A non-resource path has its own text and empty details (reference ERR-26)."""
        error = forbidden(BOB, path("/foo"))
        self.assertEqual((error.message, error.details), ('forbidden: User "bob" cannot get path "/foo"', {}))
        self.assertEqual((error.code, error.reason), (403, "Forbidden"))

    def test_quoting(self) -> None:
        """Names are quoted as Go quotes them."""
        text = forbidden(UserInfo(name='a"\n'), path("/foo")).message
        self.assertEqual(text, 'forbidden: User "a\\"\\n" cannot get path "/foo"')

"""Mode RBAC: subjects, verbs, resources and scopes against an evaluator that looks at everything each time."""
# covers: orchtw.authz.rbac_index

from __future__ import annotations

import gc
from collections.abc import Coroutine
from itertools import product
from typing import Any, cast
from weakref import ref

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authz import rbac
from orchtw.authz.decision import NO_OPINION, Decision, Stands
from orchtw.authz.rbac import MAX_REASONS, MAX_TOLD, RBAC
from orchtw.naming.naming import Naming
from orchtw.request import RequestInfo, UserInfo
from orchtw.wire.objects import Object
from tests.authz.given_roles import GivenRoles
from tests.properties import examples
from tests.rules.test_rbac import PATHS, RESOURCES, VERBS, fits, fits_path

USERS = (
    UserInfo(name="bob", groups=("dev", "system:authenticated")),
    UserInfo(name="dev", groups=()),
    UserInfo(name="system:serviceaccount:a:robot", groups=("system:serviceaccounts",)),
)
SUBJECTS: tuple[Object, ...] = (
    {"kind": "User", "name": "bob"},
    {"kind": "User", "name": "dev"},
    {"kind": "Group", "name": "dev"},
    {"kind": "Group", "name": "system:serviceaccounts"},
    {"kind": "ServiceAccount", "name": "robot", "namespace": "a"},
    {"kind": "ServiceAccount", "name": "robot"},
    {"kind": "Robot", "name": "bob"},
)


class Decisions(dict[Any, Any]):
    """Cached decisions that a weak reference can point to."""


def few(values: Any, limit: int = 2) -> Any:
    """A few of these."""
    return st.lists(st.sampled_from(values), max_size=limit)


RULES = st.one_of(
    st.fixed_dictionaries({
        "verbs": few(VERBS), "apiGroups": few(("", "*")), "resources": few(RESOURCES),
        "resourceNames": few(("a", "b")),
    }),
    st.fixed_dictionaries({"verbs": few(VERBS), "nonResourceURLs": few(PATHS)}),
)
CHANGES = st.one_of(
    st.tuples(
        st.just("role"), st.sampled_from(("", "a")), st.sampled_from("rs"), st.none() | st.lists(RULES, max_size=2)
    ),
    st.tuples(
        st.just("binding"), st.sampled_from(("", "a")), st.sampled_from("xy"),
        st.none() | st.tuples(st.sampled_from(("Role", "ClusterRole")), st.sampled_from("rs"), few(SUBJECTS)),
    ),
)  # fmt: skip


class World:
    """All roles and bindings as plain values, and what follows from them by the letter (reference AUTHZ-16)."""

    def __init__(self) -> None:
        self.given = GivenRoles(Naming.orch())
        self.rbac = RBAC(self.given, Naming.orch())
        self.bindings: dict[tuple[str, str], Object] = {}

    def change(self, what: str, namespace: str, name: str, value: Any) -> None:
        """Put a role or a binding in, or take it out if there is no value."""
        meta = {"name": name, **({"namespace": namespace} if namespace else {})}
        if what == "role":
            if value is None:
                self.given.drop_role(namespace, name)
            else:
                self.given.put_role({"metadata": meta, "rules": value})
        elif value is None:
            self.bindings.pop((namespace, name), None)
            self.given.drop_binding(namespace, name)
        else:
            kind, role, subjects = value
            obj = {"metadata": meta, "roleRef": {"kind": kind, "name": role}, "subjects": subjects}
            self.bindings[namespace, name] = obj
            self.given.put_binding(obj)

    def rules(self, user: UserInfo, namespace: str) -> list[Any]:
        """Every rule that the user has there."""
        found: list[Any] = []
        for (scope, _), binding in self.bindings.items():
            if scope in ("", namespace) and any(self.is_meant(user, each) for each in binding["subjects"]):
                role = binding["roleRef"]
                found += self.given.roles.get((scope if role["kind"] == "Role" else "", role["name"]), ())
        return found

    @staticmethod
    def is_meant(user: UserInfo, subject: Object) -> bool:
        """Report whether a subject matches the user."""
        kind, name = subject["kind"], subject["name"]
        account = f"system:serviceaccount:{subject.get('namespace')}:{name}"
        return (kind, name) == ("User", user.name) or (kind == "Group" and name in user.groups) or (
            kind == "ServiceAccount" and "namespace" in subject and account == user.name
        )  # fmt: skip

    def may(self, user: UserInfo, info: RequestInfo) -> bool:
        """Report whether the roles allow the request, by the letter of the rules."""
        if not info.is_resource:
            return any(fits_path(rule, info.verb, info.path) for rule in self.rules(user, ""))
        asked = info.verb, info.group, info.resource, info.subresource
        return any(
            fits(rule, *asked) and (not rule.names or info.name in rule.names)
            for rule in self.rules(user, info.namespace)
        )


QUESTIONS = [
    RequestInfo(
        is_resource=True, verb=verb, path="/", version="v1", resource=resource, subresource=subresource, name=name,
        namespace=namespace,
    )
    for verb, resource, subresource, name, namespace in product(
        ("get", "list"), ("pods", "nodes"), ("", "log"), ("", "a"), ("", "a", "b")
    )
] + [RequestInfo(is_resource=False, verb="get", path=path) for path in ("/a", "/a/b", "/c")]  # fmt: skip


class MatrixTests(SynchronousTestCase):
    @given(st.lists(CHANGES, max_size=8))
    @examples(150)
    def test_every_question_after_every_change(self, changes: list[tuple[str, str, str, Any]]) -> None:
        """A decision follows the roles as they are now (reference AUTHZ-16, AUTHZ-17, AUTHZ-18)."""
        self.check(changes)

    @given(st.lists(CHANGES, max_size=8))
    @examples(50)
    def test_elsewhere(self, changes: list[tuple[str, str, str, Any]]) -> None:
        """The same where everything is too much to be looked at on the reactor (reference AUTHZ-39)."""
        self.patch(rbac, "AT_ONCE", -1)
        self.check(changes)

    @given(st.lists(CHANGES, max_size=8))
    @examples(100)
    def test_lasting(self, changes: list[tuple[str, str, str, Any]]) -> None:
        """An allowance that is said to last holds for every name, and not a moment longer than the roles allow it."""
        world = World()
        lasting: list[tuple[UserInfo, RequestInfo, Stands]] = []
        for change in changes:
            world.change(*change)
            for user, question, stands in lasting:
                if all(holds() for holds in stands):
                    for name in ("", "a", "b", "z"):
                        self.assertTrue(
                            world.may(user, msgspec.structs.replace(question, name=name)), (user, question, name)
                        )
            for user, question in product(USERS, QUESTIONS):
                decision = world.rbac.authorize(user, question)
                lasts = world.rbac.lasts(user, question)
                if lasts is not None:
                    self.assertTrue(isinstance(decision, Decision) and decision.allowed)
                    lasting.append((user, question, lasts))

    def test_lasting_is_small(self) -> None:
        """The conditions of a lasting allowance keep no earlier decisions in memory."""
        world = World()
        world.change("role", "", "r", [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}])
        world.change("binding", "", "x", ("ClusterRole", "r", [{"kind": "User", "name": "bob"}]))
        world.rbac._known = decisions = Decisions()  # noqa: SLF001
        question = RequestInfo(is_resource=True, verb="get", path="", version="v1", resource="pods")
        self.assertTrue(self.decided(world, USERS[0], question).allowed)
        stands, kept = world.rbac.lasts(USERS[0], question), ref(decisions)
        assert stands is not None
        del decisions
        self.assertEqual((len(kept() or ()), all(holds() for holds in stands)), (1, True))
        world.change("role", "", "r", [])
        gc.collect()
        self.assertEqual((kept(), any(holds() for holds in stands)), (None, False))

    def check(self, changes: list[tuple[str, str, str, Any]]) -> None:
        """Ask everything after each change, twice: the second answer is remembered."""
        world = World()
        for change in changes:
            world.change(*change)
            for user, question in product(USERS, QUESTIONS):
                for _ in range(2):
                    allowed = bool(self.decided(world, user, question).allowed)
                    self.assertEqual(allowed, world.may(user, question), (change, user, question))

    def decided(self, world: World, user: UserInfo, question: RequestInfo) -> Decision:
        """Return the decision, which must be made at once."""
        decision = world.rbac.authorize(user, question)
        if isinstance(decision, Decision):
            return decision
        asked = Deferred.fromCoroutine(cast(Coroutine[Deferred[Any], Any, Decision], decision))
        found: Decision = self.successResultOf(asked)
        return found


class ReasonTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.world = World()

    def reason(self, user: UserInfo = USERS[0], **more: Any) -> tuple[bool | None, str]:
        given = {"verb": "get", "resource": "pods", "namespace": "a", **more}
        asked = RequestInfo(is_resource=True, path="/", **given)
        decision = self.world.rbac.authorize(user, asked)
        assert isinstance(decision, Decision)
        return decision.allowed, decision.reason

    def give(self, name: str, subject: Object, namespace: str = "", kind: str = "ClusterRole") -> None:
        self.world.change("binding", namespace, name, (kind, "r", [{"kind": "User", "name": "no"}, subject]))

    def test_allowed(self) -> None:
        """The reason names the binding, the role and the subject (reference AUTHZ-19)."""
        self.world.change("role", "", "r", [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}])
        self.give("x", SUBJECTS[2])
        self.assertEqual(
            self.reason(), (True, 'RBAC: allowed by ClusterRoleBinding "x" of ClusterRole "r" to Group "dev"')
        )
        self.world.change("binding", "", "x", None)
        self.give("y", SUBJECTS[4], "a")
        self.assertEqual(
            self.reason(USERS[2]),
            (True, 'RBAC: allowed by RoleBinding "y/a" of ClusterRole "r" to ServiceAccount "robot/a"'),
        )

    def test_missing(self) -> None:
        """A missing role is reported to the users bound to it, and evaluation goes on (reference AUTHZ-19)."""
        self.give("x", SUBJECTS[0])
        missing = 'clusterrole.rbac.authorization.orch.io "r" not found'
        self.assertEqual(self.reason(), (None, f"RBAC: {missing}"))
        self.give("y", SUBJECTS[0], "a", "Role")
        both = f'RBAC: [{missing}, role.rbac.authorization.orch.io "r" not found]'
        self.assertEqual(self.reason(), (None, both))
        self.world.change("role", "a", "r", [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}])
        self.assertTrue(self.reason()[0])

    def test_many_missing(self) -> None:
        """A refusal lists a bounded number of missing roles."""
        for number in range(MAX_REASONS + 5):
            self.world.change("binding", "", str(number), ("ClusterRole", f"gone-{number}", [SUBJECTS[0]]))
        self.assertIn(", and 5 more]", self.reason()[1])

    def test_names(self) -> None:
        """With names, create and deletecollection never fit, list and watch only by name (reference AUTHZ-17)."""
        rule = {"verbs": ["*"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["p"]}
        self.world.change("role", "", "r", [rule])
        self.give("x", SUBJECTS[0])
        for verb in ("create", "deletecollection", "list", "watch"):
            self.assertFalse(self.reason(verb=verb)[0], verb)
        for verb in ("get", "list", "watch", "delete"):
            self.assertTrue(self.reason(verb=verb, name="p")[0], verb)

    def test_paths_are_for_the_cluster(self) -> None:
        """A RoleBinding gives no right to a path (reference AUTHZ-18)."""
        self.world.change("role", "", "r", [{"verbs": ["get"], "nonResourceURLs": ["/x"]}])
        self.give("x", SUBJECTS[0], "a")
        question = RequestInfo(is_resource=False, verb="get", path="/x")
        self.assertEqual(self.world.rbac.authorize(USERS[0], question), NO_OPINION)
        self.give("y", SUBJECTS[0])
        decision = self.world.rbac.authorize(USERS[0], question)
        assert isinstance(decision, Decision)
        self.assertTrue(decision.allowed)

    def test_rules(self) -> None:
        """A rules review lists the rules of all roles that the user has there (reference AUTHZ-29)."""
        self.world.change("role", "", "r", [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}])
        self.world.change("role", "a", "r", [{"verbs": ["list"], "apiGroups": [""], "resources": ["nodes"]}])
        self.give("x", SUBJECTS[0])
        self.give("y", SUBJECTS[2], "a", "Role")
        rules = self.world.rbac.rules_for(USERS[0], "a")
        self.assertEqual([each.resources for each in rules.resources], [("pods",), ("nodes",)])
        self.assertEqual((rules.paths, rules.incomplete, rules.error), ((), False, ""))
        many = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}] * (MAX_TOLD + 5)
        self.world.change("role", "", "r", many)
        rules = self.world.rbac.rules_for(USERS[0], "a")
        expected = (MAX_TOLD, True, "there are 6 more rules")
        self.assertEqual((len(rules.resources), rules.incomplete, rules.error), expected)
        self.world.change("role", "", "r", None)
        rules = self.world.rbac.rules_for(USERS[0], "a")
        self.assertEqual((rules.incomplete, len(rules.resources)), (False, 1))
        self.assertIn('"r" not found', rules.error)

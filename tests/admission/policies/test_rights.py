"""Questions of expressions about rights, and their answers (reference POLICY-6)."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.policies.rights import Rights, Undecided
from orchtw.authz.decision import Decision
from orchtw.authz.fixed import AlwaysDeny
from orchtw.request import RequestInfo, UserInfo
from orchtw.schema.cel.library.authorizers import Answer, Question
from tests.admission.asked import attributes

GET = Question(verb="get", group="apps", resource="deployments", namespace="n", name="d")


class Recorder(AlwaysDeny):
    """Authorizer that allows everything, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[UserInfo, RequestInfo]] = []

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        self.asked.append((user, info))
        return Decision(True, "because", "but")


class RightsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.recorder = Recorder()
        self.write = attributes("CREATE", "configmaps", namespace="default")
        self.rights = Rights(self.recorder, self.write)

    def answer(self, question: Question) -> tuple[UserInfo, RequestInfo]:
        """Have a question answered, and return what the authorizer was asked."""
        self.successResultOf(Deferred.fromCoroutine(self.rights.answer(question)))
        return self.recorder.asked[-1]

    def test_undecided(self) -> None:
        """A question ends the run until it has been answered."""
        error = self.assertRaises(Undecided, self.rights.decide, GET)
        self.assertEqual(error.question, GET)
        self.answer(GET)
        self.assertEqual(self.rights.decide(GET), Answer(True, "because", "but"))

    def test_resource(self) -> None:
        """The authorizer is asked about the write's user, in any version of the group."""
        user, info = self.answer(GET)
        self.assertEqual(user.name, "bob")
        self.assertEqual(
            (info.is_resource, info.verb, info.group, info.version, info.resource, info.namespace, info.name),
            (True, "get", "apps", "*", "deployments", "n", "d"),
        )

    def test_selectors(self) -> None:
        """The selectors of a check reach the authorizer as those of a list do (reference POLICY-6)."""
        _, info = self.answer(Question(verb="list", resource="pods", field_selector="a=b", label_selector="c in (d)"))
        self.assertEqual((info.field_selector, info.label_selector), ("a=b", "c in (d)"))

    def test_path(self) -> None:
        """A question about a path has no resource."""
        _, info = self.answer(Question(verb="get", path="/healthz"))
        self.assertEqual((info.is_resource, info.path, info.resource), (False, "/healthz", ""))

    def test_account(self) -> None:
        """A service account is asked about with its groups."""
        user, _ = self.answer(Question(verb="get", path="/", service_account=("n", "a")))
        self.assertEqual(user.name, "system:serviceaccount:n:a")
        self.assertEqual(user.groups, ("system:serviceaccounts", "system:serviceaccounts:n"))

    def test_own(self) -> None:
        """requestResource is a question about the object of the write, which still lacks a verb."""
        expected = Question(resource="configmaps", namespace="default", name="x")
        self.assertEqual(self.rights.own(self.write).question, expected)

"""Classification into flows, and the flows that are kept (reference FLOW-3)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.flowcontrol.classifier import MAX_REMEMBERED, MAX_REMEMBERED_CHARACTERS
from orchtw.flowcontrol.levels import KnownFlow
from orchtw.request import RequestInfo, UserInfo
from tests.flowcontrol.configured import Configured, level, schema

GET = RequestInfo(is_resource=True, verb="get", path="/", resource="pods", namespace="a")


def user(name: str) -> UserInfo:
    """A user who is authenticated."""
    return UserInfo(name=name, groups=("system:authenticated",))


class ClassifierTests(SynchronousTestCase):
    """A schema for one user before one for everybody."""

    def setUp(self) -> None:
        schemas = [
            schema("catch-all", 10000, "small"),
            schema("everybody", 500, "small"),
            schema("alice", 100, "large", user="alice"),
            schema("nowhere", 50, "missing"),
        ]
        self.live = Configured(schemas, [level("small"), level("large")])

    def flow(self, name: str) -> KnownFlow:
        """Return the flow of a user's request."""
        return self.live.flow(user(name), GET)

    def keeps(self, flow: KnownFlow) -> bool:
        state = self.live.state
        assert state is not None
        return state.keeps(flow)

    def test_first_match(self) -> None:
        """The schema with the lowest precedence whose level exists decides."""
        self.assertEqual([self.flow(name).schema.name for name in ("alice", "bob")], ["alice", "everybody"])

    def test_kept(self) -> None:
        """Requests of one flow are given the same record; those of another user, another one."""
        bob = self.flow("bob")
        self.assertIs(self.flow("bob"), bob)
        self.assertTrue(self.keeps(bob))
        self.assertIsNot(self.flow("carol"), bob)

    def test_replaced(self) -> None:
        """A flow of an earlier state of the schemas is not kept."""
        bob = self.flow("bob")
        self.live.put(schema("everybody", 400, "large"))
        self.assertEqual(self.flow("bob").schema.level, "large")
        self.assertFalse(self.keeps(bob))

    def test_long_names(self) -> None:
        """A flow with a very long distinguisher is made for each request."""
        long = self.flow("n" * (MAX_REMEMBERED_CHARACTERS + 1))
        self.assertFalse(self.keeps(long))

    def test_limit(self) -> None:
        """Beyond the limit, flows without requests in progress are forgotten."""
        bob = self.flow("bob")
        for number in range(MAX_REMEMBERED):
            self.flow(f"user-{number}")
        self.assertFalse(self.keeps(bob))

"""Matching of requests to flow schemas."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.flowcontrol.live import Live
from orchtw.flowcontrol.matching import PathRule, ResourceRule, Subjects
from orchtw.naming.naming import Naming
from orchtw.request import RequestInfo, UserInfo
from orchtw.rules.long_running import long_running
from tests.flowcontrol.configured import Configured, level, schema


def resource(verb: str = "get", plural: str = "pods", **more: Any) -> RequestInfo:
    return RequestInfo(is_resource=True, verb=verb, path="/", resource=plural, **{"namespace": "a", **more})


def path(verb: str, path: str) -> RequestInfo:
    return RequestInfo(is_resource=False, verb=verb, path=path)


class RuleTests(SynchronousTestCase):
    """The parts of a schema's rules (reference FLOW-3)."""

    def test_resources(self) -> None:
        """A rule matches only if verb, group, resource with subresource, and namespace all match."""
        rule = {"verbs": ["get", "list"], "apiGroups": ["apps"], "resources": ["deployments", "deployments/scale"]}
        made = ResourceRule({**rule, "namespaces": ["a"]})
        self.assertTrue(made.matches(resource("get", "deployments", group="apps")))
        self.assertTrue(made.matches(resource("list", "deployments", group="apps", subresource="scale")))
        for other in (
            resource("create", "deployments", group="apps"),
            resource("get", "deployments"),
            resource("get", "deployments", group="apps", subresource="status"),
            resource("get", "deployments", group="apps", namespace="b"),
            resource("get", "deployments", group="apps", namespace=""),
        ):
            self.assertFalse(made.matches(other), other)

    def test_cluster_scope(self) -> None:
        """Cluster-scoped requests match by clusterScope alone; requests in a namespace never match by it."""
        rule = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        for made, whole, within in (
            (ResourceRule({**rule, "namespaces": ["*"]}), False, True),
            (ResourceRule({**rule, "clusterScope": True}), True, False),
            (ResourceRule({**rule, "clusterScope": True, "namespaces": ["*"]}), True, True),
        ):
            self.assertEqual(made.matches(resource(namespace="")), whole)
            self.assertEqual(made.matches(resource()), within)
            self.assertEqual(made.everything, whole and within)

    def test_paths(self) -> None:
        """A path matches exactly, by a prefix that ends in a star, or by the star alone."""
        made = PathRule({"verbs": ["get"], "nonResourceURLs": ["/healthz", "/debug/*"]})
        self.assertTrue(made.matches(path("get", "/healthz")))
        self.assertTrue(made.matches(path("get", "/debug/x/y")))
        for other in (path("get", "/healthz/ping"), path("post", "/healthz"), path("get", "/debug")):
            self.assertFalse(made.matches(other), other)
        self.assertTrue(PathRule({"verbs": ["*"], "nonResourceURLs": ["*"]}).matches(path("post", "/any")))

    def test_subjects(self) -> None:
        """Users and groups by name or star, accounts by name or all of a namespace."""
        account = "system:serviceaccount:team:robot"

        def has(subject: dict[str, Any], user: str, *groups: str) -> bool:
            return Subjects([subject]).name(UserInfo(name=user, groups=groups))

        self.assertTrue(has({"kind": "User", "user": {"name": "alice"}}, "alice"))
        self.assertFalse(has({"kind": "User", "user": {"name": "alice"}}, "bob", "alice"))
        self.assertTrue(has({"kind": "User", "user": {"name": "*"}}, "bob"))
        self.assertTrue(has({"kind": "Group", "group": {"name": "dev"}}, "bob", "ops", "dev"))
        self.assertFalse(has({"kind": "Group", "group": {"name": "dev"}}, "dev", "ops"))
        self.assertTrue(has({"kind": "Group", "group": {"name": "*"}}, "bob"))
        for name, namespace, expected in (("robot", "team", True), ("*", "team", True), ("*", "tea", False)):
            subject = {"kind": "ServiceAccount", "serviceAccount": {"namespace": namespace, "name": name}}
            self.assertEqual(has(subject, account), expected)

    def test_long_running(self) -> None:
        """Watches, proxies, logs and what is attached to are long-running, and the profiles (reference LIMIT-3)."""
        for verb, subresource in (("watch", ""), ("get", "log"), ("create", "exec"), ("proxy", ""), ("get", "proxy")):
            self.assertTrue(long_running(resource(verb, subresource=subresource)))
        self.assertTrue(long_running(path("get", "/debug/pprof/profile")))
        self.assertFalse(long_running(path("get", "/metrics")))
        self.assertFalse(long_running(resource("list")))


class ClassifierTests(SynchronousTestCase):
    """Schemas in their order (reference FLOW-3)."""

    def flow(self, live: Live, user: str, info: RequestInfo, *groups: str) -> tuple[str, str, str]:
        found = live.flow(UserInfo(name=user, groups=(*groups, "system:authenticated")), info)
        return found.schema.name, found.level.name, found.distinguisher

    def test_order(self) -> None:
        """The lowest matchingPrecedence counts, and the name where it is equal."""
        live = Configured(
            [schema("c", 500, "low"), schema("b", 500, "high"), schema("a", 600, "low")],
            [level("low"), level("high")],
        )
        self.assertEqual(self.flow(live, "alice", resource())[:2], ("b", "high"))

    def test_missing_level(self) -> None:
        """A schema whose level is missing is ignored until there is one (reference FLOW-12)."""
        live = Configured([schema("a", 500, "late")], [])
        self.assertEqual(self.flow(live, "alice", resource())[0], "catch-all")
        live.put(level("late"))
        self.assertEqual(self.flow(live, "alice", resource())[0], "a")

    def test_what_nobody_takes(self) -> None:
        """A user in no group at all belongs to the catch-all, whatever schema is the last one."""
        live = Configured([schema("zzz", 10_000, "low", user="alice")], [level("low")])
        found = live.flow(UserInfo(name="bob"), resource())
        self.assertEqual((found.schema.name, found.distinguisher), ("catch-all", "bob"))

    def test_flows(self) -> None:
        """Flows are of users, of namespaces, or all requests of a schema are one."""
        for by, expected in (("ByUser", "alice"), ("ByNamespace", "a"), ("", "")):
            live = Configured([schema("a", 500, "low", by=by)], [level("low")])
            self.assertEqual(self.flow(live, "alice", resource())[2], expected)

    def test_rules_by_user(self) -> None:
        """Only the rules about the user count, of each schema in turn."""
        some = {"resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["nodes"], "namespaces": ["*"]}]}
        live = Configured(
            [schema("nodes", 100, "low", user="alice", rule=some), schema("rest", 200, "low", user="alice")],
            [level("low")],
        )
        self.assertEqual(self.flow(live, "alice", resource("get", "nodes"))[0], "nodes")
        self.assertEqual(self.flow(live, "alice", resource())[0], "rest")
        self.assertEqual(self.flow(live, "bob", resource("get", "nodes"))[0], "catch-all")

    def test_administrators(self) -> None:
        """Whatever others say, administrators are exempt, also before there is any object (reference FLOW-7)."""
        greedy = schema("aaa", 2, "nothing", user="*")
        for live in (Configured([], []), Configured([greedy], [level("nothing", shares=1)])):
            self.assertEqual(self.flow(live, "root", resource(), "system:masters")[:2], ("exempt", "exempt"))

    def test_headers(self) -> None:
        """Answers name schema and level by their uids (reference REQ-22)."""
        live = Configured([schema("a", 500, "low")], [level("low")])
        found = live.flow(UserInfo(name="alice", groups=("system:authenticated",)), resource())
        naming = Naming.orch()
        self.assertEqual(
            dict(found.headers), {naming.flow_schema_header: "uid-a", naming.priority_level_header: "uid-low"}
        )

    def test_seats(self) -> None:
        """Levels share the seats by their shares, rounded up (reference FLOW-2)."""
        live = Configured([], [level("low", shares=20), level("high", shares=75)], total=600)
        live.settled()
        limits = {name: each.limit for name, each in live.levels.items()}
        self.assertEqual(limits, {"low": 120, "high": 450, "catch-all": 30, "exempt": 0})
        live.remove(level("high"))
        live.settled()
        self.assertEqual({name: each.limit for name, each in live.levels.items()}["low"], 480)

    def test_long_names(self) -> None:
        """Nothing is kept of users with enormous names; all the same they have their flow."""
        live = Configured([schema("a", 500, "low")], [level("low")])
        name = "x" * 5000
        self.assertEqual(self.flow(live, name, resource()), ("a", "low", name))
        self.assertEqual(self.flow(live, name, resource()), ("a", "low", name))

    def test_many_users(self) -> None:
        """Flows that are not in use are forgotten when there are too many."""
        live = Configured([schema("a", 500, "low")], [level("low")])
        kept = live.flow(UserInfo(name="kept", groups=("system:authenticated",)), resource())
        kept.seats = 1
        for number in range(5000):
            self.flow(live, f"user{number}", resource())
        self.assertIs(live.flow(UserInfo(name="kept", groups=("system:authenticated",)), resource()), kept)

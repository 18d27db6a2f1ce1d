"""Selection of webhooks for a write, by rules, namespace and labels (reference HOOK-6, HOOK-7, HOOK-8)."""
# covers: orchtw.admission.webhooks.plans

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.attributes import Attributes
from orchtw.admission.webhooks.configurations import Configurations
from orchtw.admission.webhooks.hook import Configuration
from orchtw.admission.webhooks.plans import Match, Plans, WebhookPlan
from orchtw.admission.webhooks.selection import selection
from orchtw.errors import NotFound
from orchtw.registry.listers.namespaces import NamespaceState
from orchtw.wire.objects import Object
from tests.admission.asked import attributes
from tests.admission.webhooks.hooks import configuration, rule, webhook

PROD = {"matchLabels": {"env": "prod"}}
NOT_PROD = {"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["prod"]}]}


class Fixed:
    """Configurations that are there."""

    def __init__(self, *configurations: Configuration) -> None:
        self._all = configurations
        self.asked = 0

    @property
    def all(self) -> Sequence[Configuration]:
        self.asked += 1
        return self._all


class Namespaces:
    """Those of a mapping, one of which is heard of only after a look at the store."""

    def __init__(self, late: str = "", **labels: Mapping[str, str]) -> None:
        self._labels: dict[str, Mapping[str, str]] = dict(labels)
        self._late = late

    def get(self, namespace: str, name: str) -> NamespaceState | None:
        return NamespaceState("Active", self._labels[name]) if name in self._labels else None

    def due(self) -> Deferred[None]:
        if self._late:
            self._labels[self._late] = {"env": "prod"}
        return succeed(None)


def plans(*webhooks: Object) -> Plans:
    return Plans(cast("Configurations[Configuration]", Fixed(configuration("c", *webhooks))))


def numbered(*settings: Any) -> list[Object]:
    """Webhooks about everything, named by their places."""
    return [webhook(rule("*/*"), name=f"{number}.b.c", **each) for number, each in enumerate(settings)]


def obj(**labels: str) -> Object:
    return {"metadata": {"name": "x", "labels": labels} if labels else {"name": "x"}}


def names(matches: Sequence[Match]) -> str:
    return "".join(match.hook.name[0] for match in matches)


class PlanTests(SynchronousTestCase):
    def plan(self, asked: Attributes, *webhooks: Object) -> WebhookPlan:
        return plans(*webhooks).of(asked)

    def test_exact(self) -> None:
        """With Exact only the request's own version counts, with Equivalent others too (reference HOOK-8)."""
        beta = rule("poddisruptionbudgets", apiGroups=["policy"], apiVersions=["v1beta1"])
        for version, policy, expected in (
            ("v1", "Exact", None),
            ("v1", "Equivalent", "v1beta1"),
            ("v1beta1", "Exact", "v1beta1"),
            ("v1beta1", "Equivalent", "v1beta1"),
        ):
            asked = attributes("CREATE", "poddisruptionbudgets", f"policy/{version}")
            found = self.plan(asked, webhook(beta, matchPolicy=policy)).whole.all
            self.assertEqual([match.resource.version for match in found], [expected] if expected else [])

    def test_own_version_first(self) -> None:
        """A rule that has the request's version goes before others that stand before it."""
        rules = [rule("poddisruptionbudgets", apiVersions=[version]) for version in ("v1beta1", "v1")]
        for version in ("v1", "v1beta1"):
            asked = attributes("CREATE", "poddisruptionbudgets", f"policy/{version}")
            (match,) = self.plan(asked, webhook(*rules)).whole.all
            self.assertEqual(match.resource.version, version)

    def test_other_groups(self) -> None:
        """A resource may be in another group too (reference VER-16)."""
        asked = attributes("CREATE", "events", "v1")
        (match,) = self.plan(asked, webhook(rule("events", apiGroups=["events.orch.io"]))).whole.all
        self.assertEqual(match.resource.api_version, "events.orch.io/v1")
        self.assertTrue(self.plan(asked, webhook(rule("pods"))).empty)

    def test_kept(self) -> None:
        """A plan is made once for each kind of write, until something changes."""
        source = Fixed(configuration("c", webhook(rule("pods"))))
        known = Plans(cast("Configurations[Configuration]", source))
        for _ in range(3):
            known.of(attributes("CREATE", "pods"))
        self.assertEqual(source.asked, 1)
        known.of(attributes("UPDATE", "pods"))
        known.of(attributes("CREATE", "pods", subresource="status"))
        self.assertEqual(source.asked, 3)
        known.forget()
        known.of(attributes("CREATE", "pods"))
        self.assertEqual(source.asked, 4)


class SelectionTests(SynchronousTestCase):
    def chosen(
        self, asked: Attributes, *settings: Any, namespaces: Namespaces | None = None, after: int = -1
    ) -> str:
        plan = plans(*numbered(*settings)).of(asked)
        lookup = namespaces or Namespaces(prod={"env": "prod"}, test={"env": "test"}, none={})
        found = self.successResultOf(Deferred.fromCoroutine(selection(plan, asked, lookup)))
        return names(found.wanted(after))

    def test_namespaces(self) -> None:
        """The labels of the object's namespace count (reference HOOK-7)."""
        settings: tuple[Object, ...] = ({}, {"namespaceSelector": PROD}, {"namespaceSelector": NOT_PROD})
        for namespace, expected in (("prod", "01"), ("test", "02"), ("none", "02")):
            asked = attributes("CREATE", "pods", namespace=namespace, obj=obj())
            self.assertEqual(self.chosen(asked, *settings), expected)
        self.assertEqual(self.chosen(attributes("CREATE", "nodes", obj=obj()), *settings), "012")

    def test_namespace_objects(self) -> None:
        """Of a Namespace its own labels count: the new ones, or when it ends those that it has."""
        settings: tuple[Object, ...] = ({"namespaceSelector": PROD}, {"namespaceSelector": NOT_PROD})
        for operation, subresource, name, labels, expected in (
            ("CREATE", "", "new", {"env": "prod"}, "0"),
            ("CREATE", "", "new", {}, "1"),
            ("UPDATE", "", "test", {"env": "prod"}, "0"),
            ("UPDATE", "", "prod", {}, "1"),
            ("UPDATE", "status", "prod", {}, "0"),
            ("DELETE", "", "prod", None, "0"),
            ("DELETE", "", "test", None, "1"),
        ):
            given = None if labels is None else obj(**labels)
            asked = attributes(
                operation,  # type: ignore[arg-type]
                "namespaces",
                namespace=name,
                subresource=subresource,
                obj=given,
            )
            self.assertEqual(self.chosen(asked, *settings), expected, (operation, name))

    def test_missing_namespace(self) -> None:
        """A namespace that is not there is a 404, for those who ask for its labels alone."""
        asked = attributes("CREATE", "pods", namespace="gone", obj=obj())
        self.assertEqual(self.chosen(asked, {}), "0")
        error = self.assertRaises(NotFound, self.chosen, asked, {}, {"namespaceSelector": PROD})
        self.assertEqual(error.message, 'namespaces "gone" not found')
        other = {"namespaceSelector": PROD, "objectSelector": {"matchLabels": {"a": "b"}}}
        self.assertEqual(self.chosen(asked, {}, other), "0")

    def test_late_namespace(self) -> None:
        """One that another process has just made is there."""
        asked = attributes("CREATE", "pods", namespace="late", obj=obj())
        found = self.chosen(asked, {"namespaceSelector": PROD}, namespaces=Namespaces("late"))
        self.assertEqual(found, "0")

    def test_labels_change(self) -> None:
        """A namespace with new labels is chosen for anew."""
        known = plans(*numbered({"namespaceSelector": PROD}))
        for labels, expected in (({"env": "prod"}, "0"), ({"env": "test"}, ""), ({"env": "prod"}, "0")):
            asked = attributes("CREATE", "pods", namespace="x", obj=obj())
            looked = selection(known.of(asked), asked, Namespaces(x=labels))
            found = self.successResultOf(Deferred.fromCoroutine(looked))
            self.assertEqual(names(found.wanted()), expected)

    def test_objects(self) -> None:
        """A selector of objects holds if it does for one of both objects; what can have no labels never matches."""
        settings: tuple[Object, ...] = ({}, {"objectSelector": PROD}, {"objectSelector": NOT_PROD})
        for new, old, expected in (
            (obj(env="prod"), None, "01"),
            (obj(env="test"), None, "02"),
            (obj(), None, "02"),
            (obj(env="test"), obj(env="prod"), "012"),
            (None, obj(env="prod"), "01"),
            ({"kind": "PodExecOptions"}, None, "0"),
        ):
            asked = attributes("UPDATE", "pods", namespace="none", obj=new, old=old)
            self.assertEqual(self.chosen(asked, *settings), expected, (new, old))

    def test_rest(self) -> None:
        """After a change of the object those behind a webhook are chosen anew."""
        settings: tuple[Object, ...] = ({"objectSelector": PROD}, {}, {"objectSelector": PROD}, {})
        asked = attributes("CREATE", "pods", namespace="none", obj=obj())
        self.assertEqual(self.chosen(asked, *settings), "13")
        asked = attributes("CREATE", "pods", namespace="none", obj=obj(env="prod"))
        self.assertEqual(self.chosen(asked, *settings, after=1), "23")
        self.assertEqual(self.chosen(asked, {}, {}, {}, after=1), "2")

"""Usage by each kind of object (reference PLUG-26, PLUG-27, PLUG-60)."""
# covers: orchtw.quota.pods

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.quota.amounts import texts
from orchtw.quota.evaluators import Evaluators
from orchtw.quota.usage import Evaluator
from orchtw.wire.objects import Object

EVALUATORS = Evaluators(Naming.orch())


def evaluator(group: str, plural: str, evaluators: Evaluators = EVALUATORS) -> Evaluator:
    found = evaluators.of((group, plural))
    assert found is not None
    return found


def container(requests: Object | None = None, limits: Object | None = None) -> Object:
    return {"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}}


def pod(*containers: Object, init: tuple[Object, ...] = (), **more: Any) -> Object:
    return {"metadata": {}, "spec": {"containers": list(containers), "initContainers": list(init)}, **more}


ONE = {"count/pods": "1", "pods": "1"}
PODS: list[tuple[str, Object, Object]] = [
    ("nothing", pod(container()), ONE),
    (
        "requests by both names, limits by one",
        pod(container({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "2Gi"})),
        {
            **ONE, "cpu": "1", "requests.cpu": "1", "limits.cpu": "2", "memory": "1Gi", "requests.memory": "1Gi",
            "limits.memory": "2Gi",
        },
    ),
    (
        "a sum",
        pod(container({"cpu": "500m"}), container({"cpu": "1"})),
        {**ONE, "cpu": "1500m", "requests.cpu": "1500m"},
    ),
    (
        "the largest init container",
        pod(container({"cpu": "1"}), init=(container({"cpu": "3"}), container({"cpu": "2"}))),
        {**ONE, "cpu": "3", "requests.cpu": "3"},
    ),
    (
        "init containers by resource",
        pod(container({"cpu": "1"}), init=(container({"memory": "5"}),)),
        {**ONE, "cpu": "1", "requests.cpu": "1", "memory": "5", "requests.memory": "5"},
    ),
    (
        "ephemeral storage",
        pod(container({"ephemeral-storage": "1Gi"}, {"ephemeral-storage": "2Gi"})),
        {
            **ONE, "ephemeral-storage": "1Gi", "requests.ephemeral-storage": "1Gi",
            "limits.ephemeral-storage": "2Gi",
        },
    ),
    (
        "huge pages",
        pod(container({"hugepages-2Mi": "4Mi"})),
        {**ONE, "hugepages-2Mi": "4Mi", "requests.hugepages-2Mi": "4Mi"},
    ),
    ("extended", pod(container({"example.com/gpu": "2"})), {**ONE, "requests.example.com/gpu": "2"}),
    ("native with a domain", pod(container({"orch.io/x": "2"})), ONE),
    ("failed", pod(container({"cpu": "1"}), status={"phase": "Failed"}), {"count/pods": "1"}),
    ("succeeded", pod(container({"cpu": "1"}), status={"phase": "Succeeded"}), {"count/pods": "1"}),
    ("pending", pod(container(), status={"phase": "Pending"}), ONE),
]  # fmt: skip
PODS.append(
    (
        "overhead",
        {"metadata": {}, "spec": {"containers": [container({"cpu": "1"})], "overhead": {"cpu": "250m"}}},
        {**ONE, "cpu": "1250m", "requests.cpu": "1250m", "limits.cpu": "250m"},
    )
)

SERVICES: list[tuple[Object, str, str]] = [
    ({"type": "ClusterIP", "ports": [{}, {}]}, "0", "0"),
    ({"type": "ExternalName"}, "0", "0"),
    ({"type": "NodePort", "ports": [{}, {}]}, "2", "0"),
    ({"type": "LoadBalancer", "ports": [{}, {}]}, "2", "1"),
    ({"type": "LoadBalancer", "ports": [{}, {}], "allocateLoadBalancerNodePorts": True}, "2", "1"),
    (
        {"type": "LoadBalancer", "ports": [{"nodePort": 30000}, {}], "allocateLoadBalancerNodePorts": False},
        "1",
        "1",
    ),
]


class PodTests(SynchronousTestCase):
    def test_usage(self) -> None:
        """A pod uses itself, and what its containers ask for and are limited to."""
        for name, obj, expected in PODS:
            self.assertEqual(texts(evaluator("", "pods").usage(obj).amounts(0)), dict(sorted(expected.items())), name)

    def test_terminating(self) -> None:
        """A pod that is being deleted counts until its grace period has passed twice over, as in the release."""
        obj = pod(container({"cpu": "1"}))
        obj["metadata"] = {"deletionTimestamp": "1970-01-01T00:01:00Z", "deletionGracePeriodSeconds": 30}
        usage = evaluator("", "pods").usage(obj)
        self.assertEqual(usage.until, 90)
        self.assertIn("pods", usage.amounts(90))
        self.assertEqual(texts(usage.amounts(90.5)), {"count/pods": "1"})

    def test_missing(self) -> None:
        """Containers have to say their cpu and memory where a quota limits them, and nothing else."""
        found = evaluator("", "pods").missing
        every = {f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory")}
        self.assertEqual(found(pod(container())), every)
        self.assertEqual(found(pod(container({"cpu": "1"}))), every - {"cpu", "requests.cpu"})
        self.assertEqual(found(pod(container({"cpu": "1"}), init=(container(),))), every)
        full = container({"cpu": "0", "memory": "0"}, {"cpu": "0", "memory": "0"})
        self.assertEqual(found(pod(full)), set())

    def test_counted(self) -> None:
        """The entries that pods use of."""
        names = ["pods", "count/pods", "cpu", "limits.cpu", "requests.ephemeral-storage", "hugepages-2Mi",
                 "requests.hugepages-2Mi", "requests.example.com/gpu"]  # fmt: skip
        others = ["services", "requests.storage", "count/services", "example.com/gpu", "requests.orch.io/x"]
        counts = evaluator("", "pods").counts
        self.assertEqual([name for name in [*names, *others] if counts(name)], names)


class ServiceTests(SynchronousTestCase):
    def test_usage(self) -> None:
        """Node ports count by what is wanted, load balancers by type."""
        for spec, ports, balancers in SERVICES:
            found = texts(evaluator("", "services").usage({"metadata": {}, "spec": spec}).amounts(0))
            expected = {
                "count/services": "1", "services": "1", "services.loadbalancers": balancers,
                "services.nodeports": ports,
            }  # fmt: skip
            self.assertEqual(found, expected, spec)


class ClaimTests(SynchronousTestCase):
    def usage(self, naming: str = "orch", annotations: Object | None = None, **spec: Any) -> Object:
        found = Evaluators(Naming.of(naming)).of(("", "persistentvolumeclaims"))
        assert found is not None
        meta = {"annotations": annotations} if annotations else {}
        return texts(found.usage({"metadata": meta, "spec": spec}).amounts(0))

    def test_usage(self) -> None:
        """A claim and its storage, in whole bytes, also by class; the old annotation comes first."""
        one = {"count/persistentvolumeclaims": "1", "persistentvolumeclaims": "1"}
        storage: Object = {"resources": {"requests": {"storage": "1500m"}}}
        self.assertEqual(self.usage(), one)
        self.assertEqual(self.usage(**storage), {**one, "requests.storage": "2"})
        by_class = {
            **one, "gold.storageclass.storage.orch.io/persistentvolumeclaims": "1",
            "gold.storageclass.storage.orch.io/requests.storage": "2", "requests.storage": "2",
        }  # fmt: skip
        self.assertEqual(self.usage(storageClassName="gold", **storage), dict(sorted(by_class.items())))
        old = {"volume.beta.orch.io/storage-class": "gold"}
        found = self.usage(annotations=old, storageClassName="tin", **storage)
        self.assertEqual(found, dict(sorted(by_class.items())))

    def test_other_vocabulary(self) -> None:
        """Names follow the vocabulary."""
        found = self.usage("kubernetes", storageClassName="gold")
        self.assertIn("gold.storageclass.storage.k8s.io/persistentvolumeclaims", found)

    def test_counted(self) -> None:
        """Entries by class are claims' too."""
        names = ["persistentvolumeclaims", "a.storageclass.storage.orch.io/requests.storage"]
        counts = evaluator("", "persistentvolumeclaims").counts
        self.assertEqual([name for name in [*names, "pods"] if counts(name)], names)


class CountTests(SynchronousTestCase):
    def test_names(self) -> None:
        """Everything is counted by resource and group; four kinds have a name without a prefix too."""
        for group, plural, names in (
            ("", "configmaps", ["count/configmaps", "configmaps"]),
            ("", "secrets", ["count/secrets", "secrets"]),
            ("", "replicationcontrollers", ["count/replicationcontrollers", "replicationcontrollers"]),
            ("", "resourcequotas", ["count/resourcequotas", "resourcequotas"]),
            ("", "serviceaccounts", ["count/serviceaccounts"]),
            ("apps", "deployments", ["count/deployments.apps"]),
            ("shop.example.com", "secrets", ["count/secrets.shop.example.com"]),
        ):
            found = evaluator(group, plural)
            self.assertEqual([name for name in [*names, "pods", "services"] if found.counts(name)], names)
            self.assertEqual(found.names, set(names))
            self.assertEqual(texts(found.usage({}).amounts(0)), dict.fromkeys(sorted(names), "1"))
            self.assertEqual((found.grows, found.missing({})), (False, set()))

    def test_ignored(self) -> None:
        """Events, bindings and reviews are not counted."""
        for group, plural in (
            ("", "events"), ("events.orch.io", "events"), ("", "bindings"),
            ("authorization.orch.io", "localsubjectaccessreviews"),
        ):  # fmt: skip
            self.assertIsNone(EVALUATORS.of((group, plural)))
            self.assertIsNone(EVALUATORS.home(f"count/{plural}.{group}" if group else f"count/{plural}"))

    def test_homes(self) -> None:
        """Each entry of a quota leads to the resource that it limits."""
        for name, home in (
            ("pods", ("", "pods")), ("requests.cpu", ("", "pods")), ("requests.example.com/gpu", ("", "pods")),
            ("count/pods", ("", "pods")), ("services.nodeports", ("", "services")),
            ("requests.storage", ("", "persistentvolumeclaims")),
            ("a.storageclass.storage.orch.io/requests.storage", ("", "persistentvolumeclaims")),
            ("secrets", ("", "secrets")), ("count/secrets", ("", "secrets")),
            ("count/widgets.shop.example.com", ("shop.example.com", "widgets")),
        ):  # fmt: skip
            self.assertEqual(EVALUATORS.home(name), home, name)
        self.assertIsNone(EVALUATORS.home("example.com/gpu"))

    def test_growing(self) -> None:
        """Services and claims are charged for updates too."""
        growing = {plural for plural in ("pods", "services", "persistentvolumeclaims") if evaluator("", plural).grows}
        self.assertEqual(growing, {"services", "persistentvolumeclaims"})

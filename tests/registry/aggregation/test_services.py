"""The APIServices as values, and the order in which clients are shown them."""

from __future__ import annotations

from orchtw.outbound.services import ServiceReference
from orchtw.registry.aggregation.order import available, merged
from orchtw.registry.aggregation.services import ApiService, ServiceBackend
from tests.registry.aggregation.worlds import AggregationCase, api_service

AVAILABLE = {"status": {"conditions": [{"type": "Available", "status": "True"}]}}


class ApiServicesTests(AggregationCase):
    def test_followed(self) -> None:
        """Created, changed and deleted APIServices count at once, and listeners are notified (reference AGG-1)."""
        told: list[tuple[ApiService | None, ApiService | None]] = []
        self.services.listen(lambda old, new: told.append((old, new)))
        self.make(api_service())
        made = self.services.remote["example.com", "v1"]
        self.assertEqual(
            made.backend, ServiceBackend(service=ServiceReference(namespace="a", name="there"), insecure=True)
        )
        self.assertEqual((made.path, made.available), ("/apis/example.com/v1", False))
        self.change(made.name, AVAILABLE, "status")
        changed = self.services.remote["example.com", "v1"]
        self.assertTrue(changed.available)
        self.change(made.name, {"metadata": {"annotations": {"a": "b"}}})
        self.delete(made.name)
        self.assertEqual(self.services.remote, {})
        self.assertEqual(told, [(None, made), (made, changed), (changed, None)])

    def test_local(self) -> None:
        """One without a Service leads nowhere else, nor does one that loses its Service (reference AGG-9)."""
        self.make(api_service("v1.local.com", local=True))
        self.make(api_service())
        self.change("v1.example.com", {"spec": {"service": None, "insecureSkipTLSVerify": None}})
        self.assertEqual(set(self.services.all), {"v1.local.com", "v1.example.com"})
        self.assertEqual(self.services.remote, {})

    def test_core(self) -> None:
        """The core group is this server's own (reference AGG-4)."""
        self.make(api_service("v1."))
        self.assertEqual(self.services.remote, {})


class OrderTests(AggregationCase):
    def order(self) -> list[tuple[str, tuple[str, ...]]]:
        """Groups and versions as discovery shows them."""
        targets = self.world.targets
        served = {(each.group, each.version) for each in targets.resources}
        return [(each.name, each.versions) for each in merged(targets.groups, served, self.services.all)]

    def test_release(self) -> None:
        """Without APIServices it is the release's own order (reference AGG-9, DISC-2)."""
        own = [(each.name, each.versions) for each in self.world.targets.groups if each.versions]
        core = next(each for each in own if not each[0])
        self.assertEqual([each for each in self.order() if each != core], [each for each in own if each != core])

    def test_remote(self) -> None:
        """Another server's group is shown while it is available, by its priority, then by name (reference AGG-9)."""
        for name, priority in (("v1.b.com", 1000), ("v1.a.com", 1000), ("v1.first.com", 20000)):
            self.make(api_service(name, groupPriorityMinimum=priority))
        self.assertEqual([each for each in self.order() if each[0].endswith(".com")], [])
        for name in ("v1.b.com", "v1.a.com", "v1.first.com"):
            self.change(name, AVAILABLE, "status")
        self.assertEqual(self.order()[1][0], "first.com")
        self.assertEqual([name for name, _ in self.order()][-2:], ["a.com", "b.com"])
        self.assertIn(("a.com", "v1"), available(self.services.all))

    def test_versions(self) -> None:
        """Versions stand by falling priority, then by maturity (reference AGG-9)."""
        for version, priority in (("v1beta1", 10), ("v2", 10), ("v1alpha1", 50), ("v1", 10)):
            name = f"{version}.a.com"
            self.make(api_service(name, versionPriority=priority))
            self.change(name, AVAILABLE, "status")
        self.assertEqual(self.order()[-1], ("a.com", ("v1alpha1", "v2", "v1", "v1beta1")))

    def test_own_priorities(self) -> None:
        """The APIService of a local group version says where it stands (reference AGG-9)."""
        self.make(api_service("v1.batch", local=True, groupPriorityMinimum=20000, versionPriority=1))
        self.assertEqual(self.order()[1], ("batch", ("v1beta1", "v1")))

    def test_taken_over(self) -> None:
        """A remote APIService takes a local group version over: it is shown while it works (reference AGG-9)."""
        self.make(api_service("v1.batch", groupPriorityMinimum=17400))
        self.assertEqual(dict(self.order())["batch"], ("v1beta1",))
        self.change("v1.batch", AVAILABLE, "status")
        self.assertEqual(dict(self.order())["batch"], ("v1", "v1beta1"))

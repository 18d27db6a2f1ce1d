"""APIServices for what this server serves itself."""

from __future__ import annotations

from orchtw.bootstrap.api_services import SETTLE_S, Registration
from orchtw.registry.aggregation.services import GROUP, managed_label
from tests.registry.aggregation.worlds import AggregationCase, api_service
from tests.registry.widgets import GROUP as WIDGETS


class RegistrationTests(AggregationCase):
    vocabulary = "orch"

    def setUp(self) -> None:
        super().setUp()
        self.label = managed_label(self.world.naming)
        self.registration = self.started()

    def started(self) -> Registration:
        """The registration of a server that starts now."""
        made = Registration(self.ensurer, self.services, self.world.clock)
        self.addCleanup(made.stop)
        made.follow()
        return made

    def run_all(self) -> None:
        """Run the registration of all APIServices, as the start does."""
        self.world.run(self.registration.run())

    def managed(self, name: str) -> str | None:
        """Return the label of how the APIService was made, or None."""
        found = self.services.all.get(name)
        return None if found is None else found.managed

    def test_release(self) -> None:
        """Each group version of the release but the aggregator's own has one, available at once (reference AGG-2)."""
        self.run_all()
        served = {f"{each.version}.{each.group}" for each in self.world.targets.resources if each.group != GROUP}
        served = {name for name in served if not name.endswith(self.world.naming.group(GROUP))}
        self.assertEqual(set(self.services.all), served)
        apps = self.found("v1.apps")
        assert apps is not None
        self.assertEqual(apps["metadata"]["labels"], {self.label: "onstart"})
        priorities = {"groupPriorityMinimum": 17800, "versionPriority": 15}
        self.assertEqual(apps["spec"], {"group": "apps", "version": "v1", **priorities})
        self.assertEqual(self.condition("v1.")["reason"], "Local")

    def test_until_the_next_start(self) -> None:
        """Changes to the release's APIServices stay until a server starts (reference AGG-14)."""
        self.run_all()
        self.delete("v1.apps")
        self.change("v1.batch", {"spec": {"versionPriority": 7}})
        self.run_all()
        self.assertIsNone(self.managed("v1.apps"))
        self.assertEqual(self.services.all["v1.batch"].version_priority, 7)
        self.registration = self.started()
        self.run_all()
        self.assertEqual(self.managed("v1.apps"), "onstart")
        self.assertEqual(self.services.all["v1.batch"].version_priority, 15)

    def test_not_served(self) -> None:
        """One of an earlier start whose group version is switched off is removed (reference AGG-14)."""
        spurious = api_service("v9.batch", local=True)
        spurious["metadata"]["labels"] = {self.label: "onstart"}
        self.make(spurious)
        self.registration = self.started()
        self.run_all()
        self.assertIsNone(self.managed("v9.batch"))

    def test_of_others(self) -> None:
        """One without the label is left alone, also where it takes a group version over (reference AGG-14)."""
        self.make(api_service("v1.batch"))
        self.run_all()
        self.assertIn(("batch", "v1"), self.services.remote)

    def test_custom(self) -> None:
        """Custom group versions have one while they are served, by itself (reference AGG-2, AGG-14)."""
        self.run_all()
        self.world.add_widgets("v1", "v1beta1")
        self.world.settle(1)
        names = [f"v1.{WIDGETS}", f"v1beta1.{WIDGETS}"]
        self.assertEqual([self.managed(name) for name in names], ["true", "true"])
        found = self.services.all[names[0]]
        self.assertEqual((found.group_priority, found.version_priority), (1000, 100))
        self.world.add_widgets("v1")
        self.world.settle(1)
        self.assertEqual([self.managed(name) for name in names], ["true", None])
        self.world.targets.remove(WIDGETS, "widgets")
        self.world.settle(1)
        self.assertIsNone(self.managed(names[0]))

    def test_brought_back(self) -> None:
        """That of a custom group version comes back when somebody deletes or changes it (reference AGG-14)."""
        self.run_all()
        self.world.add_widgets("v1")
        self.world.settle(1)
        name = f"v1.{WIDGETS}"
        self.delete(name)
        self.world.settle(1)
        self.assertEqual(self.managed(name), "true")
        self.change(name, {"spec": {"versionPriority": 7}})
        self.world.settle(1)
        self.assertEqual(self.services.all[name].version_priority, 100)

    def test_given_back(self) -> None:
        """A custom group version that somebody's APIService led elsewhere is local again without that one
        (reference AGG-14).
        """
        name = f"v1.{WIDGETS}"
        self.make(api_service(name))
        self.run_all()
        self.world.add_widgets("v1")
        self.world.settle(1)
        self.assertEqual(self.managed(name), "")
        self.delete(name)
        self.world.settle(1)
        self.assertEqual(self.managed(name), "true")

    def test_yet_to_come(self) -> None:
        """At a start custom group versions are waited for before their APIServices are removed (reference AGG-14)."""
        self.run_all()
        self.world.add_widgets("v1")
        self.world.settle(1)
        self.registration.stop()
        self.world.targets.remove(WIDGETS, "widgets")
        self.registration = self.started()
        self.run_all()
        self.assertEqual(self.managed(f"v1.{WIDGETS}"), "true")
        self.world.settle(SETTLE_S + 1)
        self.assertIsNone(self.managed(f"v1.{WIDGETS}"))


class KubernetesRegistrationTests(RegistrationTests):
    """The same under the other names."""

    vocabulary = "kubernetes"

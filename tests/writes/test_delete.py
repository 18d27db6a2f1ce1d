"""From a delete to the end of an object: preconditions, finalizers, grace periods, races (reference DEL-4, DEL-8)."""

from __future__ import annotations

from typing import Any

from orchtw.errors import Conflict, Invalid, NotFound
from orchtw.rules.delete_options import DeleteOptions
from orchtw.storage.cache.resource import DamagedObject
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object
from orchtw.writes.delete import LONGEST_GRACE_S, Deletion
from orchtw.writes.propagation import FOREGROUND, ORPHAN
from tests.registry.unchecked import without_rules
from tests.registry.writing import Rival, WriteTestCase

NOW = "2023-11-14T22:13:20Z"
IN_20_S = "2023-11-14T22:13:40Z"
IN_30_S = "2023-11-14T22:13:50Z"


class DeletionCase(WriteTestCase):
    def meta(self, name: str = "x", plural: str = "configmaps", group_version: str = "v1") -> Object:
        """Return the metadata as stored."""
        found = self.live(name, self.target(plural, group_version))
        assert found is not None
        meta: Object = found["metadata"]
        return meta


class RemovalTests(DeletionCase):
    def test_gone(self) -> None:
        """An object that nothing holds is gone at once; a second delete finds nothing: 404."""
        self.config_map()
        self.assertTrue(self.delete())
        self.assertIsNone(self.live())
        self.assertRaises(NotFound, self.delete)

    def test_dry_run(self) -> None:
        """A dry run says that it would be gone, and it is not."""
        self.config_map()
        before = self.world.store.now
        self.assertTrue(self.delete(dry_run=True))
        self.assertEqual(self.world.store.now, before)

    def test_answer(self) -> None:
        """The answer is the object as it was last."""
        made = self.config_map()
        deleting = self.world.registry.deletion.delete(self.write(self.maps, "x"), DeleteOptions())
        self.assertEqual(self.maps.load(self.world.run(deleting).entry), made)

    def test_lost_race(self) -> None:
        """A delete that was overtaken by a change deletes the newer object."""
        self.config_map()
        self.plugin.check = Rival(lambda: self.label(by="rival"))
        self.assertTrue(self.delete())
        self.assertIsNone(self.live())

    def test_finalizer_meanwhile(self) -> None:
        """A finalizer that was set meanwhile holds the object."""
        self.config_map()
        client, maps = self.world.client, self.world.resource("configmaps")
        patch = {"metadata": {"finalizers": ["example.com/wait"]}}
        self.plugin.check = Rival(lambda: client.patch(maps, "a", "x", patch))
        self.assertFalse(self.delete())
        self.assertEqual(self.meta()["deletionTimestamp"], NOW)

    def test_no_end(self) -> None:
        """A delete that is always overtaken gives up: 409."""
        self.config_map()
        counts = iter(range(1000))
        self.plugin.check = Rival(lambda: self.label(count=str(next(counts))), times=1000)
        self.assertRaises(Conflict, self.delete)
        self.assertIsNotNone(self.live())


class PreconditionTests(DeletionCase):
    def setUp(self) -> None:
        super().setUp()
        self.made = self.config_map()["metadata"]

    def test_uid(self) -> None:
        """Another UID, an empty one too, is a 409: the name stands for something else."""
        for uid in ("other", ""):
            error = self.assertRaises(Conflict, self.delete, precondition_uid=uid)
            self.assertIn(f"the UID in the precondition ({uid}) does not match the UID in record", error.message)
        self.assertTrue(self.delete(precondition_uid=self.made["uid"]))

    def test_version(self) -> None:
        """Another version, an empty one too, is a 409, in a dry run too."""
        for version, dry_run in (("1", False), ("1", True), ("", False)):
            error = self.assertRaises(Conflict, self.delete, precondition_version=version, dry_run=dry_run)
            self.assertIn(f"the ResourceVersion in the precondition ({version}) does not match", error.message)
        self.assertTrue(self.delete(precondition_version=self.made["resourceVersion"]))

    def test_overtaken(self) -> None:
        """A version that was right when the delete began, and is not any more, is a 409."""
        self.plugin.check = Rival(lambda: self.label(by="rival"))
        self.assertRaises(Conflict, self.delete, precondition_version=self.made["resourceVersion"])
        self.assertIsNotNone(self.live())


class FinalizerTests(DeletionCase):
    def test_held(self) -> None:
        """A finalizer holds the object, which says since when it is to end."""
        self.config_map(finalizers=["example.com/wait"])
        self.assertFalse(self.delete())
        meta = self.meta()
        self.assertEqual((meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"]), (NOW, 0))

    def test_twice(self) -> None:
        """A second delete of a terminating object changes nothing."""
        self.config_map(finalizers=["example.com/wait"])
        self.delete()
        before = self.world.store.now
        self.world.clock.advance(5)
        self.assertFalse(self.delete())
        self.assertEqual((self.meta()["deletionTimestamp"], self.world.store.now), (NOW, before))

    def test_dry_run(self) -> None:
        """A dry run shows the termination and does not begin it."""
        self.config_map(finalizers=["example.com/wait"])
        deleting = self.world.registry.deletion.delete(self.write(self.maps, "x", dry_run=True), DeleteOptions())
        shown = self.maps.load(self.world.run(deleting).entry)["metadata"]
        self.assertEqual(shown["deletionTimestamp"], NOW)
        self.assertNotIn("deletionTimestamp", self.meta())

    def test_generation(self) -> None:
        """The beginning of the end counts as a new generation, where the kind counts them."""
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        deployments = self.target("deployments", "apps/v1")
        self.create({"metadata": {"name": "d", "finalizers": ["example.com/wait"]}, "spec": spec}, deployments)
        self.assertEqual(self.meta("d", "deployments", "apps/v1")["generation"], 1)
        self.delete("d", deployments)
        self.assertEqual(self.meta("d", "deployments", "apps/v1")["generation"], 2)

    def test_namespace(self) -> None:
        """A namespace is held by its spec's finalizers, and its phase says that it is ending."""
        namespaces = self.target("namespaces")
        self.assertFalse(self.delete("a", namespaces))
        found = self.live("a", namespaces)
        assert found is not None
        self.assertEqual((found["status"]["phase"], found["spec"]["finalizers"]), ("Terminating", ["orch"]))


    def test_from_before_the_rules(self) -> None:
        """A terminating invalid object can lose its finalizers, and nothing else of it can change."""
        secrets = self.target("secrets")
        with without_rules():
            self.create({"metadata": {"name": "x", "finalizers": ["a.io/wait"]}, "data": {"a/b": ""}}, secrets)
        self.assertRaises(Invalid, self.update, self.without_finalizers, "x", secrets)
        self.delete("x", secrets)
        self.assertRaises(Invalid, self.update, lambda live: {**live, "data": {"c/d": ""}}, "x", secrets)
        self.update(self.without_finalizers, "x", secrets)
        self.assertIsNone(self.live("x", secrets))

    @staticmethod
    def without_finalizers(live: Object | None) -> Object:
        """Return the object without a controller's finalizer."""
        assert live is not None
        return {**live, "metadata": {**live["metadata"], "finalizers": []}}


class PropagationTests(DeletionCase):
    def finalizers(self, present: list[str], **options: Any) -> list[str] | None:
        """The finalizers after a delete of an object with some; None: it is gone."""
        self.config_map(finalizers=present)
        gone = self.delete(**options)
        found = None if gone else self.meta().get("finalizers", [])
        if not gone:
            self.world.patch("configmaps", "x", {"finalizers": None})
        return found

    def test_policies(self) -> None:
        """Orphan and Foreground leave a finalizer for the garbage collector, Background takes both off."""
        mine = "example.com/wait"
        for present, options, expected in (
            ([], {"propagation": "Orphan"}, [ORPHAN]),
            ([], {"propagation": "Foreground"}, [FOREGROUND]),
            ([], {"propagation": "Background"}, None),
            ([], {"orphan_dependents": True}, [ORPHAN]),
            ([], {"orphan_dependents": False}, None),
            ([mine], {"propagation": "Foreground"}, [mine, FOREGROUND]),
            ([ORPHAN], {"propagation": "Foreground"}, [FOREGROUND]),
            ([FOREGROUND], {"propagation": "Background"}, None),
            ([ORPHAN], {}, [ORPHAN]),
            ([mine], {}, [mine]),
        ):
            self.assertEqual(self.finalizers(present, **options), expected, f"{present} {options}")

    def test_kinds_that_orphan(self) -> None:
        """Some kinds leave their dependents alone if nobody says otherwise, in some of their versions."""
        template: Object = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        once = {"spec": {**template["spec"], "restartPolicy": "Never"}}
        cron = {"schedule": "@daily", "jobTemplate": {"spec": {"template": once}}}
        for plural, group_version, spec, expected in (
            ("replicationcontrollers", "v1", {"template": template}, [ORPHAN]),
            ("jobs", "batch/v1", {"template": once}, [ORPHAN]),
            ("cronjobs", "batch/v1beta1", cron, [ORPHAN]),
            ("cronjobs", "batch/v1", cron, None),
        ):
            obj: Object = {"metadata": {"name": group_version.replace("/", "-")}, "spec": spec}
            self.world.run(self.world.client.create(self.world.resource(plural, group_version), "a", obj))
            name, target = obj["metadata"]["name"], self.target(plural, group_version)
            gone = self.delete(name, target)
            self.assertEqual(None if gone else self.meta(name, plural, group_version)["finalizers"], expected)

    def test_without_collector(self) -> None:
        """Where nobody collects garbage, nobody would take such finalizers off: none are set."""
        self.config_map()
        deletion = Deletion(self.writes, collects_garbage=False)
        options = DeleteOptions(propagation="Orphan")
        self.assertTrue(self.world.run(deletion.delete(self.write(self.maps, "x"), options)).gone)


class GraceTests(DeletionCase):
    """Pods end gracefully once a node runs them (reference DEL-6)."""

    def setUp(self) -> None:
        super().setUp()
        self.pods = self.target("pods")

    def pod(self, node: str = "n") -> None:
        spec = {"containers": [{"name": "c", "image": "i"}], **({"nodeName": node} if node else {})}
        self.create({"metadata": {"name": "x"}, "spec": spec}, self.pods)

    def times(self) -> tuple[str, int]:
        meta = self.meta("x", "pods")
        return meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"]

    def test_default(self) -> None:
        """The pod says how long it may take; the timestamp is the end of that time."""
        self.pod()
        self.assertFalse(self.delete("x", self.pods))
        self.assertEqual(self.times(), (IN_30_S, 30))

    def test_without_node(self) -> None:
        """A pod that no node runs is gone at once."""
        self.pod(node="")
        self.assertTrue(self.delete("x", self.pods))

    def test_shorter(self) -> None:
        """A second delete may shorten what is left, not extend it; one that says nothing changes nothing."""
        self.pod()
        self.delete("x", self.pods)
        self.delete("x", self.pods, grace_period_s=20)
        self.assertEqual(self.times(), (IN_20_S, 20))
        for again in ({"grace_period_s": 60}, {}):
            self.assertFalse(self.delete("x", self.pods, **again))
            self.assertEqual(self.times(), (IN_20_S, 20))

    def test_now(self) -> None:
        """Zero seconds end a terminating pod at once."""
        self.pod()
        self.delete("x", self.pods)
        self.assertTrue(self.delete("x", self.pods, grace_period_s=0))

    def test_longest(self) -> None:
        """A period beyond what Go's durations hold ends with them."""
        self.pod()
        self.delete("x", self.pods, grace_period_s=2**62)
        self.assertEqual(self.times(), (rfc3339(int(self.world.now()) + LONGEST_GRACE_S), 2**62))


class DamagedTests(DeletionCase):
    """An object that cannot be read goes at once: nobody knows what would hold it."""

    def setUp(self) -> None:
        super().setUp()
        self.config_map()
        self.revision = self.world.store.now
        damage = DamagedObject("/registry/configmaps/a/x", self.revision)

        def get(namespace: str, name: str) -> None:
            raise damage

        self.patch(self.maps.stored, "get", get)

    def test_gone(self) -> None:
        """It is removed, and admission is shown its names."""
        seen: list[Object | None] = []
        self.plugin.check = lambda attributes: seen.append(attributes.old)
        self.assertTrue(self.delete())
        self.assertNotIn("/registry/configmaps/a/x", self.world.store.items)
        assert seen[0] is not None
        self.assertEqual((seen[0]["metadata"]["name"], seen[0]["metadata"]["namespace"]), ("x", "a"))

    def test_preconditions(self) -> None:
        """Its version is known and can be asked for; nobody knows its UID: 500."""
        self.assertRaises(DamagedObject, self.delete, precondition_uid="u")
        self.assertRaises(DamagedObject, self.delete, precondition_version="1")
        self.assertTrue(self.delete(precondition_version=str(self.revision)))

    def test_read_errors(self) -> None:
        """It goes too if read errors are to be ignored (reference DEL-21)."""
        self.assertTrue(self.delete(ignore_read_errors=True))
        self.assertNotIn("/registry/configmaps/a/x", self.world.store.items)

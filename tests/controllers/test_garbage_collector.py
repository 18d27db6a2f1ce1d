"""The garbage collector (reference CTRL-13, DEL-5, DEL-10)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.client.interface import Resource
from orchtw.controllers.garbage_collector import (
    is_followed,
)
from orchtw.naming.naming import Naming
from orchtw.rules.delete_options import DeleteOptions
from orchtw.wire.objects import Object
from tests.client.world import reference
from tests.controllers.garbage_case import GarbageCollectorCase


class BackgroundTests(GarbageCollectorCase):
    def test_chain(self) -> None:
        """Dependents go after their owner, and theirs after them (reference CTRL-18)."""
        self.chain()
        self.world.config_map("stranger")
        self.assertTrue(self.delete("owner", "Background"))
        self.assertEqual(self.left(), ["stranger"])

    def test_default(self) -> None:
        """Without a policy deletion is in the background (reference DEL-5)."""
        self.chain()
        self.assertTrue(self.delete("owner"))
        self.assertEqual(self.left(), [])

    def test_nothing_is_remembered(self) -> None:
        """When all are gone the graph is empty; it never knows objects without owners or dependents."""
        self.chain()
        self.world.config_map("stranger")
        self.assertEqual(set(self.collector.graph.nodes), {self.meta(name)["uid"] for name in
                                                           ("owner", "middle", "leaf")})
        self.delete("owner")
        self.delete("stranger")
        self.assertEqual((self.collector.graph.nodes, self.collector.queue.idle), ({}, True))

    def test_another_owner(self) -> None:
        """An object whose other owner remains stays, and loses the reference to the one that is gone (reference
        CTRL-14).
        """
        first, second = self.world.config_map("first"), self.world.config_map("second")
        self.world.config_map("shared", first, second)
        self.delete("first")
        self.assertEqual(self.meta("shared")["ownerReferences"], [reference(second)])
        self.delete("second")
        self.assertEqual(self.left(), [])

    def test_dependent_to_orphan(self) -> None:
        """A dependent with the finalizer orphan is deleted, and lets its own dependents go (reference CTRL-14)."""
        owner = self.world.config_map("owner")
        middle = self.world.config_map("middle", owner, finalizers=["orphan"])
        self.world.config_map("leaf", middle)
        self.delete("owner", "Background")
        self.assertEqual(self.left(), ["leaf"])
        self.assertNotIn("ownerReferences", self.meta("leaf"))

    def test_dependent_in_the_foreground(self) -> None:
        """A dependent with foregroundDeletion is deleted after its own dependents (reference CTRL-14)."""
        owner = self.world.config_map("owner")
        middle = self.world.config_map("middle", owner, finalizers=["foregroundDeletion"])
        self.world.config_map("leaf", middle, finalizers=["example.com/f"])
        blocking = {**reference(middle), "blockOwnerDeletion": True}
        self.world.patch("configmaps", "leaf", {"ownerReferences": [blocking]})
        self.delete("owner", "Background")
        self.assertEqual(self.left(), ["leaf", "middle"])
        for name in ("leaf", "middle"):
            self.assertIn("deletionTimestamp", self.meta(name))
        self.world.patch("configmaps", "leaf", {"finalizers": None})
        self.assertEqual(self.left(), [])

    def test_preconditions(self) -> None:
        """The object that was looked at is deleted in the state that it had then (reference CTRL-14)."""
        owner = self.world.config_map("owner")
        dependent = self.world.config_map("dependent", owner)["metadata"]
        asked: list[DeleteOptions] = []
        delete = type(self.world.client).delete

        def noted(client: Any, resource: Any, namespace: str, name: str, options: DeleteOptions) -> Any:
            asked.append(options)
            return delete(client, resource, namespace, name, options)

        self.patch(type(self.world.client), "delete", noted)
        self.delete("owner", "Background")
        (options,) = [each for each in asked if each.precondition_uid]
        found = options.precondition_uid, options.precondition_version, options.propagation
        self.assertEqual(found, (dependent["uid"], dependent["resourceVersion"], "Background"))

    def test_owner_that_never_was(self) -> None:
        """An owner that cannot be found counts as deleted."""
        ghost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ghost", "uid": "no"}}
        self.world.config_map("orphan", ghost)
        self.world.settle()
        self.assertEqual(self.left(), [])

    def test_owner_that_was_made_again(self) -> None:
        """An owner of the same name but another uid is another object (reference CTRL-14)."""
        owner = self.world.config_map("owner")
        self.delete("owner")
        self.world.config_map("owner")
        self.world.config_map("late", owner)
        self.world.settle()
        self.assertEqual(self.left(), ["owner"])

    def test_owner_with_finalizer(self) -> None:
        """As long as a finalizer keeps the owner, its dependents stay."""
        owner = self.world.config_map("owner", finalizers=["example.com/f"])
        self.world.config_map("dependent", owner)
        self.assertFalse(self.delete("owner", "Background"))
        self.assertEqual(self.left(), ["dependent", "owner"])
        self.world.patch("configmaps", "owner", {"finalizers": None})
        self.world.settle()
        self.assertEqual(self.left(), [])

    def test_dependent_with_finalizer(self) -> None:
        """A dependent's own finalizers are respected; it is deleted when they are gone."""
        owner = self.world.config_map("owner")
        self.world.config_map("dependent", owner, finalizers=["example.com/f"])
        self.delete("owner")
        self.assertTrue(self.meta("dependent")["deletionTimestamp"])
        self.world.patch("configmaps", "dependent", {"finalizers": None})
        self.assertEqual(self.left(), [])

    def test_adopted(self) -> None:
        """An owner reference that is added later counts."""
        owner = self.world.config_map("owner")
        self.world.config_map("dependent")
        self.world.patch("configmaps", "dependent", {"ownerReferences": [reference(owner)]})
        self.delete("owner")
        self.assertEqual(self.left(), [])

    def test_released(self) -> None:
        """An owner reference that has been removed does not count."""
        owner = self.world.config_map("owner")
        self.world.config_map("dependent", owner)
        self.world.patch("configmaps", "dependent", {"ownerReferences": None})
        self.delete("owner")
        self.assertEqual(self.left(), ["dependent"])

    def test_circle(self) -> None:
        """Objects that own each other go once one of them is deleted."""
        first = self.world.config_map("first")
        second = self.world.config_map("second", first)
        self.world.patch("configmaps", "first", {"ownerReferences": [reference(second)]})
        self.world.settle()
        self.assertEqual(self.left(), ["first", "second"])
        self.delete("first")
        self.assertEqual(self.left(), [])

    def test_through_another_version(self) -> None:
        """References through any served version of the owner's kind mean the same owner."""
        template: Any = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        job = {"metadata": {"name": "cron"}, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {
            "template": {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}}}}}
        cron_jobs = self.world.resource("cronjobs", "batch/v1")
        owner = self.world.run(self.world.client.create(cron_jobs, "a", job))
        for version in ("v1", "v1beta1"):
            self.world.config_map(version, {**owner, "apiVersion": f"batch/{version}"})
        self.world.settle()
        self.assertEqual(self.left(), ["v1", "v1beta1"])
        self.world.run(self.world.client.delete(cron_jobs, "a", "cron"))
        self.world.settle()
        self.assertEqual(self.left(), [])


class ForegroundTests(GarbageCollectorCase):
    def test_chain(self) -> None:
        """The owner is deleted last; meanwhile it has the finalizer and a deletion time."""
        self.world.config_map("owner")
        owner = self.meta("owner")
        middle = self.world.config_map("middle", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": owner},
                                       finalizers=["example.com/f"])
        self.world.config_map("leaf", middle)
        self.assertFalse(self.delete("owner", "Foreground"))
        self.assertEqual(self.meta("owner")["finalizers"], ["foregroundDeletion"])
        self.assertTrue(self.meta("owner")["deletionTimestamp"])
        self.assertEqual(self.left(), ["middle", "owner"])
        self.world.patch("configmaps", "middle", {"finalizers": None})
        self.world.settle()
        self.assertEqual(self.left(), [])

    def test_without_dependents(self) -> None:
        """An object without dependents is deleted at once."""
        self.world.config_map("owner")
        self.delete("owner", "Foreground")
        self.assertEqual((self.left(), self.collector.graph.nodes), ([], {}))

    def test_whom_it_does_not_wait_for(self) -> None:
        """Only dependents with blockOwnerDeletion hold the owner; the others are deleted all the same."""
        owner = self.world.config_map("owner")
        loose = [reference(owner, blocking=False)]
        self.world.config_map("dependent", ownerReferences=loose, finalizers=["example.com/f"])
        self.delete("owner", "Foreground")
        self.assertEqual(self.left(), ["dependent"])
        self.assertTrue(self.meta("dependent")["deletionTimestamp"])

    def test_unblocked_later(self) -> None:
        """A dependent that stops blocking lets the owner go."""
        owner = self.world.config_map("owner")
        self.world.config_map("dependent", owner, finalizers=["example.com/f"])
        self.delete("owner", "Foreground")
        self.assertEqual(self.left(), ["dependent", "owner"])
        self.world.patch("configmaps", "dependent", {"ownerReferences": [reference(owner, blocking=False)]})
        self.world.settle()
        self.assertEqual(self.left(), ["dependent"])

    def test_other_owner_remains(self) -> None:
        """A dependent with another owner only loses the reference, and the deleted owner is removed."""
        first, second = self.world.config_map("first"), self.world.config_map("second")
        self.world.config_map("shared", first, second)
        self.delete("first", "Foreground")
        self.assertEqual(self.left(), ["second", "shared"])
        self.assertEqual(self.meta("shared")["ownerReferences"], [reference(second)])

    def test_new_dependent(self) -> None:
        """A dependent that comes while its owner waits is deleted too."""
        owner = self.world.config_map("owner")
        self.world.config_map("first", owner, finalizers=["example.com/f"])
        self.delete("owner", "Foreground")
        self.world.config_map("second", owner)
        self.world.settle()
        self.assertEqual(self.left(), ["first", "owner"])

    def test_circle(self) -> None:
        """A circle of blocking references is cut: nothing waits for itself."""
        first = self.world.config_map("first")
        second = self.world.config_map("second", first)
        self.world.patch("configmaps", "first", {"ownerReferences": [reference(second)]})
        self.delete("first", "Foreground")
        self.world.settle(5)
        self.assertEqual(self.left(), [])


class OrphanTests(GarbageCollectorCase):
    def test_dependents_stay(self) -> None:
        """Dependents lose the reference to this owner and no other, then the owner is removed."""
        owner, other = self.world.config_map("owner"), self.world.config_map("other")
        self.world.config_map("one", owner)
        self.world.config_map("two", owner, other)
        self.assertFalse(self.delete("owner", "Orphan"))
        self.assertEqual(self.left(), ["one", "other", "two"])
        self.assertNotIn("ownerReferences", self.meta("one"))
        self.assertEqual(self.meta("two")["ownerReferences"], [reference(other)])

    def test_default_of_some_kinds(self) -> None:
        """Replication controllers orphan their dependents unless told otherwise (reference DEL-5)."""
        controllers = self.world.resource("replicationcontrollers")
        for name, options in (("kept", DeleteOptions()), ("gone", DeleteOptions(propagation="Background"))):
            obj = {"metadata": {"name": name}, "spec": {"selector": {"a": "b"}, "template": {
                "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}
            owner = self.world.run(self.world.client.create(controllers, "a", obj))
            self.world.config_map(name, owner)
            self.world.run(self.world.client.delete(controllers, "a", name, options))
            self.world.settle()
        self.assertEqual((self.left(), self.world.names("replicationcontrollers")), (["kept"], []))

    def test_own_finalizer(self) -> None:
        """An owner's other finalizers keep it after its dependents have been let go."""
        owner = self.world.config_map("owner", finalizers=["example.com/f"])
        self.world.config_map("dependent", owner)
        self.delete("owner", "Orphan")
        self.assertEqual(self.meta("owner")["finalizers"], ["example.com/f"])
        self.world.patch("configmaps", "owner", {"finalizers": None})
        self.assertEqual(self.left(), ["dependent"])


class ScopeTests(GarbageCollectorCase):
    def cluster_role(self, name: str, *owners: Object) -> Object:
        return self.world.create("clusterroles", name, *owners, group_version="rbac.authorization.orch.io/v1")

    def test_cluster_owner(self) -> None:
        """A cluster-scoped object may own namespaced ones."""
        owner = self.cluster_role("owner")
        self.world.config_map("dependent", owner)
        self.world.settle()
        self.assertEqual(self.left(), ["dependent"])
        roles = self.world.resource("clusterroles", "rbac.authorization.orch.io/v1")
        self.world.run(self.world.client.delete(roles, "", "owner"))
        self.world.settle()
        self.assertEqual(self.left(), [])

    def test_owner_in_another_namespace(self) -> None:
        """An owner in another namespace is not an owner: the dependent goes, and an event says why
        (reference CTRL-15).
        """
        self.world.namespace("b")
        owner = self.world.config_map("owner", namespace="b")
        self.world.config_map("dependent", owner)
        self.world.settle()
        self.assertEqual((self.left(), self.world.names("configmaps", "b")), ([], ["owner"]))
        uid = owner["metadata"]["uid"]
        text = f'ownerRef [v1/ConfigMap, namespace: a, name: owner, uid: {uid}] does not exist in namespace "a"'
        self.assertEqual(self.events(), [("OwnerRefInvalidNamespace", "dependent", text)])

    def test_right_dependents_of_that_owner(self) -> None:
        """A reference from the wrong namespace does not harm dependents with a right reference, in either order."""
        self.world.namespace("b")
        owner = self.world.config_map("owner", namespace="b")
        self.world.config_map("wrong", owner)
        self.world.config_map("right", owner, namespace="b")
        self.world.config_map("wrong-too", owner)
        self.world.settle()
        self.assertEqual((self.left(), self.world.names("configmaps", "b")), ([], ["owner", "right"]))
        self.assertEqual(sorted(name for _, name, _ in self.events()), ["wrong", "wrong-too"])

    def test_namespaced_owner_of_cluster_object(self) -> None:
        """A cluster-scoped object with a namespaced owner is kept, with an event: its owner cannot be resolved."""
        owner = self.world.config_map("owner")
        self.cluster_role("dependent", owner)
        self.delete("owner")
        self.world.settle(60)
        roles = self.world.resource("clusterroles", "rbac.authorization.orch.io/v1")
        self.assertEqual(self.world.run(self.world.client.get(roles, "", "dependent"))["kind"], "ClusterRole")
        self.assertEqual({(reason, name) for reason, name, _ in self.events()},
                         {("OwnerRefInvalidNamespace", "dependent")})

    def test_unknown_kind(self) -> None:
        """A reference to a kind that is not served keeps the dependent."""
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "uid": "no"}}
        self.world.config_map("dependent", widget)
        self.world.settle(60, 5)
        self.assertEqual(self.left(), ["dependent"])

    def test_wrong_name(self) -> None:
        """A reference with an owner's uid under a wrong name is to an owner that does not exist (reference CTRL-14).
        """
        owner = self.world.config_map("owner")
        self.world.config_map("right", owner)
        self.world.config_map("wrong", ownerReferences=[{**reference(owner), "name": "other"}])
        self.world.settle()
        self.assertEqual(self.left(), ["owner", "right"])

    def test_events_are_ignored(self) -> None:
        """Events are not dependents (reference CTRL-17)."""
        ghost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ghost", "uid": "no"}}
        event = {"metadata": {"name": "e", "ownerReferences": [reference(ghost)]},
                 "involvedObject": {"namespace": "a"}}
        self.world.run(self.world.client.create(self.world.resource("events"), "a", event))
        self.world.settle()
        self.assertEqual(self.world.names("events"), ["e"])


class FollowedTests(SynchronousTestCase):
    """Resources that the collector follows (`is_followed`)."""

    def test_kinds(self) -> None:
        """Events are left out by exact group and kind, and what cannot be watched or deleted."""
        verbs = ("delete", "list", "watch")
        for group, kind, allowed, expected in [
            ("", "ConfigMap", verbs, True),
            ("", "ConfigMap", ("delete", "list"), False),
            ("", "Event", verbs, False),
            ("events.k8s.io", "Event", verbs, False),
            ("events.example.com", "Event", verbs, True),
        ]:
            resource = Resource(
                group=group, version="v1", plural=f"{kind.lower()}s", kind=kind, namespaced=True, verbs=allowed
            )
            self.assertEqual(is_followed(resource, Naming.kubernetes()), expected, (group, kind))

"""The namespace controller (reference CTRL-10, DEL-15, DEL-10)."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import attrs

from orchtw.client.interface import Discovered
from orchtw.controllers.namespace import DISCOVERY_S, SWEEP_S, NamespaceController
from orchtw.errors import Forbidden
from orchtw.rules.delete_options import DeleteOptions
from orchtw.storage.store import Op
from tests.client.aggregated.servers import PATH, WIDGETS, AggregatedCase, listed, widget
from tests.controllers.controlled import ControllerTestCase, host
from tests.registry.widgets import GROUP, PREFIX

POD = {"containers": [{"name": "c", "image": "i"}]}


class NamespaceControllerTests(ControllerTestCase):
    names = ("namespace",)

    def delete(self, name: str = "a") -> bool:
        """Delete a namespace, then let everything happen that follows at once."""
        gone = self.world.run(self.world.client.delete(self.world.resource("namespaces"), "", name))
        self.world.settle()
        return gone

    def namespace(self, name: str = "a") -> Any:
        """Return the namespace, or None."""
        return self.world.get("namespaces", name)

    def condition(self, name: str) -> tuple[str, str, str]:
        """Status, reason and message of a condition."""
        conditions = self.namespace()["status"]["conditions"]
        return next(
            (each["status"], each["reason"], each["message"]) for each in conditions if each["type"] == name
        )

    def pod(self, name: str, **spec: Any) -> None:
        pods = self.world.resource("pods")
        obj = {"metadata": {"name": name}, "spec": {**POD, **spec}}
        self.world.run(self.world.client.create(pods, "a", obj))

    def test_empty(self) -> None:
        """An empty namespace is deleted at once; the delete itself answers that it is still there."""
        self.assertFalse(self.delete())
        self.assertIsNone(self.namespace())

    def test_added_resource(self) -> None:
        """Objects of a resource that came up at run time go with their namespace."""
        self.world.add_widgets()
        self.world.create("widgets", "w", group_version=f"{GROUP}/v1")
        self.delete()
        self.assertIsNone(self.namespace())
        self.assertNotIn(f"{PREFIX}a/w", self.world.store.items)

    def test_contents_go(self) -> None:
        """Everything in the namespace is deleted, whatever its group; other namespaces and cluster objects stay."""
        self.world.namespace("b")
        for namespace in "ab":
            self.world.config_map("x", namespace=namespace)
            self.world.create("roles", "r", namespace=namespace, group_version="rbac.authorization.orch.io/v1")
            self.world.create("leases", "l", namespace=namespace, group_version="coordination.orch.io/v1")
        self.world.create("clusterroles", "c", group_version="rbac.authorization.orch.io/v1")
        self.pod("p")
        self.delete()
        keys = sorted(key for key in self.world.store.items if "/x" in key or key[-2:] in ("/r", "/l", "/c", "/p"))
        self.assertEqual(keys, [
            "/registry/configmaps/b/x",
            "/registry/coordination.orch.io/leases/b/l",
            "/registry/rbac.authorization.orch.io/clusterroles/c",
            "/registry/rbac.authorization.orch.io/roles/b/r",
        ])
        self.assertIsNone(self.namespace())

    def test_thousands(self) -> None:
        """5,000 objects go in one round."""
        config_maps = self.world.resource("configmaps")

        async def fill() -> None:
            for number in range(5000):
                await self.world.client.create(config_maps, "a", {"metadata": {"name": f"x{number}"}})

        self.world.run(fill())
        self.delete()
        self.assertIsNone(self.namespace())
        self.assertEqual([key for key in self.world.store.items if "/configmaps/" in key], [])

    def test_finalizers_are_reported(self) -> None:
        """Contents with finalizers keep the namespace, whose conditions count them (reference CTRL-11, CTRL-12)."""
        for name in ("x", "y"):
            self.world.config_map(name, finalizers=["example.com/f"])
        self.world.config_map("z", finalizers=["example.com/g"])
        self.delete()
        self.assertEqual(self.namespace()["status"]["phase"], "Terminating")
        self.assertEqual(self.condition("NamespaceContentRemaining"), (
            "True", "SomeResourcesRemain", "Some resources are remaining: configmaps. has 3 resource instances"))
        self.assertEqual(self.condition("NamespaceFinalizersRemaining"), (
            "True", "SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: "
            "example.com/f in 2 resource instances, example.com/g in 1 resource instances"))
        self.assertEqual(self.condition("NamespaceDeletionDiscoveryFailure"), (
            "False", "ResourcesDiscovered", "All resources successfully discovered"))
        self.assertEqual(self.condition("NamespaceDeletionGroupVersionParsingFailure"), (
            "False", "ParsedGroupVersions", f"All {self.world.naming.legacy_types} successfully parsed"))
        self.assertEqual(self.condition("NamespaceDeletionContentFailure"), (
            "False", "ContentDeleted", "All content successfully deleted, may be waiting on finalization"))

    def test_finalizers_go(self) -> None:
        """Once the last finalizer is taken off the namespace goes within the back-off, 15 s and a bit at most."""
        self.world.config_map("x", finalizers=["example.com/f"])
        self.delete()
        self.world.settle(120)
        self.world.patch("configmaps", "x", {"finalizers": None})
        self.world.settle(17)
        self.assertIsNone(self.namespace())

    def test_back_off(self) -> None:
        """While contents remain, the namespace is examined at growing intervals and not written again."""
        self.world.config_map("x", finalizers=["example.com/f"])
        self.delete()
        version = self.namespace()["metadata"]["resourceVersion"]
        calls = []
        discover = self.manager.controllers[0].client.discover

        async def counted() -> Discovered:
            calls.append(self.world.now())
            return await discover()

        self.manager.controllers[0].client.discover = counted  # type: ignore[method-assign]
        self.world.settle(120)
        self.assertIn(len(calls), range(8, 16))
        self.assertEqual(self.namespace()["metadata"]["resourceVersion"], version)

    def test_grace_of_pods(self) -> None:
        """A pod on a node keeps its grace period; the namespace waits until the node agent ends it
        (reference CTRL-10, DEL-6).
        """
        self.pod("p", nodeName="n", terminationGracePeriodSeconds=40)
        self.delete()
        pod = self.world.get("pods", "p")
        assert pod is not None
        self.assertEqual(pod["metadata"]["deletionGracePeriodSeconds"], 40)
        self.world.settle(20)
        self.assertEqual(self.world.get("pods", "p"), pod)
        self.assertEqual(self.condition("NamespaceContentRemaining")[2],
                         "Some resources are remaining: pods. has 1 resource instances")
        at_once = DeleteOptions(grace_period_s=0)
        self.world.run(self.world.client.delete(self.world.resource("pods"), "a", "p", at_once))
        self.world.settle(17)
        self.assertIsNone(self.namespace())

    def test_nothing_new(self) -> None:
        """A terminating namespace takes nothing new (reference DEL-18)."""
        self.world.config_map("x", finalizers=["example.com/f"])
        self.delete()
        with self.assertRaises(Forbidden):
            self.world.config_map("y")

    def test_other_finalizers(self) -> None:
        """Only the server's own finalizer is taken out: others in spec or metadata keep the empty namespace."""
        self.world.patch("namespaces", "a", {"finalizers": ["example.com/f"]})
        self.delete()
        self.assertEqual(self.namespace()["spec"].get("finalizers"), None)
        self.world.patch("namespaces", "a", {"finalizers": None})
        self.assertIsNone(self.namespace())

    def test_discovery_failure(self) -> None:
        """A group that cannot be asked keeps the namespace, and the condition names it
        (reference CTRL-10, CTRL-12).
        """
        controller = self.manager.controllers[0]
        discover = controller.client.discover

        async def failing() -> Discovered:
            found = await discover()
            return Discovered(found.resources, {"metrics.example.com/v1": "unavailable"})

        controller.client.discover = failing  # type: ignore[method-assign]
        self.delete()
        text = (
            "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: "
            "metrics.example.com/v1: unavailable"
        )
        self.assertEqual(self.condition("NamespaceDeletionDiscoveryFailure"), ("True", "DiscoveryFailed", text))
        controller.client.discover = discover  # type: ignore[method-assign]
        self.world.settle(17)
        self.assertIsNone(self.namespace())

    def test_refused_deletion(self) -> None:
        """Contents whose deletion is refused keep the namespace, with the reason in its condition.

        (reference CTRL-11, CTRL-12)
        """
        self.world.config_map("x")
        controller = self.manager.controllers[0]
        delete = controller.client.delete

        async def refusing(*arguments: Any, **options: Any) -> bool:
            raise Forbidden.of("configmaps", "", "x", "a webhook says no")

        controller.client.delete = refusing  # type: ignore[method-assign]
        self.delete()
        text = 'Failed to delete all resource types, 1 remaining: configmaps.: configmaps "x" is forbidden: ' \
               "a webhook says no"
        self.assertEqual(self.condition("NamespaceDeletionContentFailure"), ("True", "ContentDeletionFailed", text))
        controller.client.delete = delete  # type: ignore[method-assign]
        self.world.settle(17)
        self.assertIsNone(self.namespace())

    def test_restart_in_the_middle(self) -> None:
        """A namespace that was ending when the server was killed ends after the start."""
        self.end()
        self.world.config_map("x")
        self.delete()
        self.assertIsNotNone(self.namespace())
        self.restart()
        self.world.settle()
        self.assertIsNone(self.namespace())
        self.assertEqual(self.world.names("configmaps"), [])

    def test_late_contents(self) -> None:
        """An object stored after its namespace was gone, but admitted before, is deleted."""
        self.delete()
        stored = self.world.targets.stored_target("", "v1", "configmaps").stored
        meta = {"name": "late", "namespace": "a", "uid": "u", "creationTimestamp": None}
        prepared = stored.prepare(stored.codec.normalise({"metadata": meta}))
        self.world.store.commit(Op(stored.prefix + prepared.key, prepared.value, 0))
        self.world.settle()
        self.assertEqual(self.world.names("configmaps"), ["late"])
        self.world.settle(SWEEP_S)
        self.assertEqual(self.world.names("configmaps"), [])

    def test_sweep_spares_a_new_namespace(self) -> None:
        """A namespace that was made again under the same name keeps its contents."""
        self.delete()
        self.world.namespace("a")
        self.world.config_map("x")
        self.world.settle(2 * SWEEP_S)
        self.assertEqual(self.world.names("configmaps"), ["x"])

    def replaced_after(self, listed: str, make_anew: bool) -> None:
        """Let another namespace take the place once a pass has listed these objects."""
        client, world = self.manager.controllers[0].client, self.world
        list_objects = client.list

        async def listing(resource: Any, namespace: str = "", **selectors: str) -> Any:
            found = await list_objects(resource, namespace, **selectors)
            if resource.plural == listed:
                client.list = list_objects  # type: ignore[method-assign]
                await world.store.commit(Op("/registry/namespaces/a", None))
                if make_anew:
                    await world.client.create(world.resource("namespaces"), "", {"metadata": {"name": "a"}})
                    for plural in ("secrets", "configmaps"):
                        await world.client.create(world.resource(plural), "a", {"metadata": {"name": "new"}})
            return found

        client.list = listing  # type: ignore[method-assign]

    def test_pass_spares_a_new_namespace(self) -> None:
        """A pass that is under way when its namespace is replaced deletes nothing of the new one, not even objects
        of names that it has listed (reference CTRL-10).
        """
        for name in ("old", "new"):
            self.world.config_map(name)
        for plural in ("configmaps", "pods"):
            self.replaced_after(plural, make_anew=True)
            self.world.run(self.world.store.commit(Op("/registry/configmaps/a/new", None)))
            self.delete()
            self.world.settle(20)
            self.assertEqual((self.world.names("secrets"), "new" in self.world.names("configmaps")), (["new"], True))
            self.assertEqual(self.namespace()["status"]["phase"], "Active")
            self.world.run(self.world.store.commit(Op("/registry/secrets/a/new", None)))

    def test_listed_object_made_anew_stays(self) -> None:
        """Of the objects that were listed, one that has been replaced since is not deleted in the same step."""
        self.world.config_map("x")
        client, world = self.manager.controllers[0].client, self.world
        delete = client.delete

        async def deleting(resource: Any, namespace: str, name: str, options: Any) -> bool:
            client.delete = delete  # type: ignore[method-assign]
            uids.append(options.precondition_uid)
            await world.store.commit(Op("/registry/configmaps/a/x", None))
            return await delete(resource, namespace, name, options)

        uids: list[str] = []
        uid = self.world.get("configmaps", "x")["metadata"]["uid"]  # type: ignore[index]
        client.delete = deleting  # type: ignore[method-assign,assignment]
        self.delete()
        self.assertEqual(uids, [uid])
        self.world.settle(17)
        self.assertIsNone(self.namespace())

    def test_sweep_ends_with_a_new_namespace(self) -> None:
        """A sweep after the end of a namespace stops as soon as there is another one of its name."""
        self.delete()
        self.replaced_after("configmaps", make_anew=True)
        stored = self.world.targets.stored_target("", "v1", "configmaps").stored
        meta = {"name": "late", "namespace": "a", "uid": "u", "creationTimestamp": None}
        prepared = stored.prepare(stored.codec.normalise({"metadata": meta}))
        self.world.store.commit(Op(stored.prefix + prepared.key, prepared.value, 0))
        self.world.settle(2 * SWEEP_S)
        self.assertEqual(self.world.names("secrets"), ["new"])
        self.assertIn("new", self.world.names("configmaps"))

    def test_resync(self) -> None:
        """Every sync period, a namespace whose deletion was missed is examined again."""
        controller = self.manager.controllers[0]
        controller.queue.add, add = lambda key: None, controller.queue.add  # type: ignore[method-assign]
        self.delete()
        self.assertIsNotNone(self.namespace())
        controller.queue.add = add  # type: ignore[method-assign]
        self.world.settle(301, 1)
        self.assertIsNone(self.namespace())

    def test_health(self) -> None:
        """The check passes while the controller runs, and fails before and after."""
        self.assertEqual(self.health(), {})
        self.end()
        self.assertEqual(self.health(), {"namespace": "not running"})


class KubernetesNamesTests(NamespaceControllerTests):
    """The same under Kubernetes' names: another finalizer, other groups."""

    vocabulary = "kubernetes"


class PodsFirstTests(ControllerTestCase):
    names = ("namespace",)
    settings = MappingProxyType({"pods_first": True})

    def test_order(self) -> None:
        """With the gate everything else stays until all pods are gone (CTRL-10)."""
        world = self.world
        world.config_map("m")
        meta = {"name": "p", "finalizers": ["x.io/f"]}
        pod = {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        world.run(world.client.create(world.resource("pods"), "a", pod))
        world.run(world.client.delete(world.resource("namespaces"), "", "a"))
        world.settle(5)
        self.assertIsNotNone(world.get("configmaps", "m"))
        found = world.get("namespaces", "a")
        assert found is not None
        conditions = {each["type"]: each["status"] for each in found["status"]["conditions"]}
        self.assertEqual(conditions["NamespaceContentRemaining"], "True")
        world.patch("pods", "p", {"finalizers": []})
        world.settle(30)
        self.assertIsNone(world.get("configmaps", "m"))
        self.assertIsNone(world.get("namespaces", "a"))


class GracePeriodTests(ControllerTestCase):
    names = ("namespace",)
    settings = MappingProxyType({"namespace_deletion_grace_period_s": 1.0})

    def test_left_alone(self) -> None:
        """In its grace period a deleted namespace stays as it is; then it goes."""
        world, namespaces = self.world, self.world.resource("namespaces")
        world.run(world.client.delete(namespaces, "", "a"))
        before = world.get("namespaces", "a")
        world.settle(0.75)
        found = world.get("namespaces", "a")
        assert before is not None and found is not None
        self.assertEqual(found["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"])
        world.settle(0.5)
        self.assertIsNone(world.get("namespaces", "a"))

    def test_finalized_by_a_client(self) -> None:
        """A client that finalizes the namespace itself meets no conflict, and has removed it."""
        world, namespaces = self.world, self.world.resource("namespaces")
        world.run(world.client.delete(namespaces, "", "a"))
        world.settle()
        found = world.get("namespaces", "a")
        assert found is not None
        world.run(world.client.update(namespaces, "", "a", {**found, "spec": {"finalizers": []}}, "finalize"))
        self.assertIsNone(world.get("namespaces", "a"))
        world.settle(2)


class AggregatedContentsTests(AggregatedCase):
    def setUp(self) -> None:
        super().setUp()
        made = attrs.evolve(host(self.world), joined=lambda client, account, tenure: self.client)
        self.controller = NamespaceController(made, 2)
        self.controller.startService()
        self.addCleanup(lambda: self.world.run(self.controller.stopService()))

    def end(self) -> None:
        """Delete the namespace and settle."""
        self.world.run(self.world.client.delete(self.world.resource("namespaces"), "", "a"))
        self.world.settle(1)

    def failures(self) -> list[str]:
        """Types and messages of the conditions that tell of problems; nothing once the namespace is gone."""
        found = self.world.get("namespaces", "a")
        conditions = found["status"]["conditions"] if found is not None else ()
        return [f"{each['type']}: {each['message']}" for each in conditions if each["status"] == "True"]

    def test_one_by_one(self) -> None:
        """Without deletecollection objects go one by one, and those that stay keep the namespace
        (reference AGG-17).
        """
        self.server.answers |= {
            f"GET {PATH}": listed({**WIDGETS, "verbs": ["delete", "list"]}),
            f"GET {PATH}/namespaces/a/widgets?limit=500": {"items": [widget("one", finalizers=["x/y"])]},
            f"DELETE {PATH}/namespaces/a/widgets/one": {"kind": "Status"},
        }
        self.end()
        self.assertEqual(self.failures(), [
            "NamespaceContentRemaining: Some resources are remaining: widgets.example.com has 1 resource instances",
            "NamespaceFinalizersRemaining: Some content in the namespace has finalizers remaining: "
            "x/y in 1 resource instances",
        ])  # fmt: skip
        self.assertIn(f"DELETE {PATH}/namespaces/a/widgets/one", [asked for asked, _ in self.server.asked])
        self.server.answers[f"GET {PATH}/namespaces/a/widgets?limit=500"] = {"items": []}
        self.world.settle(17)
        self.assertIsNone(self.world.get("namespaces", "a"))

    def test_without_lists(self) -> None:
        """A resource that cannot be listed has its objects deleted all the same; one that is not there has none."""
        self.server.answers |= {
            f"GET {PATH}": listed({**WIDGETS, "verbs": ["delete", "deletecollection"]}),
            f"DELETE {PATH}/namespaces/a/widgets": {"kind": "Status"},
        }
        self.end()
        self.assertIn(f"DELETE {PATH}/namespaces/a/widgets", [asked for asked, _ in self.server.asked])
        self.assertIsNone(self.world.get("namespaces", "a"))

    def test_not_there(self) -> None:
        """A resource that is shown and not found keeps nobody."""
        self.end()
        self.assertIsNone(self.world.get("namespaces", "a"))

    def test_comes_back(self) -> None:
        """A namespace that a failing group keeps goes soon after that can be asked (reference CTRL-10)."""
        self.say("v1.example.com", available=False)
        self.end()
        self.world.settle(100)
        text = (
            "NamespaceDeletionDiscoveryFailure: Discovery failed for some groups, 1 failing: unable to retrieve the "
            "complete list of server APIs: example.com/v1: the server is currently unable to handle the request"
        )
        self.assertEqual(self.failures(), [text])
        self.say("v1.example.com", available=True)
        self.world.settle(DISCOVERY_S + 1)
        self.assertIsNone(self.world.get("namespaces", "a"))

"""The in-process client: the registry's own reads and writes, refusals included."""
# covers: orchtw.client.interface, orchtw.client.owner_references, orchtw.client.rest_mapper

from __future__ import annotations

from copy import deepcopy

from twisted.internet.defer import ensureDeferred

from orchtw.client.interface import Item
from orchtw.client.owner_references import OwnerMetadata, OwnerMetadataReader, OwnerReference
from orchtw.errors import AlreadyExists, Conflict, Expired, Forbidden, Invalid, NotFound, StatusError
from orchtw.rules.delete_options import DeleteOptions
from orchtw.watch.event_log import EventLog
from orchtw.wire.objects import Object
from tests.client.world import WorldTestCase, reference
from tests.registry.widgets import GROUP


class Recorder:
    """Receiver that records its calls."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.fails = False

    def changed(self, item: Item) -> None:
        if self.fails:
            raise ZeroDivisionError
        self.told.append(f"+{item.key}")

    def removed(self, item: Item) -> None:
        self.told.append(f"-{item.key}")

    def ended(self, error: StatusError | None) -> None:
        self.told.append(type(error).__name__)


class InProcessClientTests(WorldTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.client = self.world.client
        self.config_maps = self.world.resource("configmaps")

    def test_create_and_get(self) -> None:
        """A created object can be read back, with the fields that the server sets."""
        created = self.world.config_map("x")
        self.assertTrue(created["metadata"]["uid"])
        self.assertEqual(self.world.get("configmaps", "x"), created)
        self.assertIsNone(self.world.get("configmaps", "y"))

    def test_refusals(self) -> None:
        """Admission and validation happen as for a request (reference DESIGN-24)."""
        self.world.config_map("x")
        with self.assertRaises(AlreadyExists):
            self.world.config_map("x")
        with self.assertRaises(Invalid):
            self.world.config_map("Not A Name")
        with self.assertRaises(NotFound):
            self.world.config_map("x", namespace="nowhere")
        with self.assertRaises(Forbidden):
            self.world.run(self.client.delete(self.world.resource("namespaces"), "", "default"))

    def test_list_with_selectors(self) -> None:
        """Lists are of one namespace or all, and take label and field selectors."""
        self.world.namespace("b")
        self.world.config_map("x", labels={"app": "1"})
        self.world.config_map("y", labels={"app": "2"})
        self.world.config_map("x", namespace="b")

        def keys(namespace: str = "", **selectors: str) -> list[str]:
            listing = self.world.run(self.client.list(self.config_maps, namespace, **selectors))
            return [item.key for item in listing.items]

        self.assertEqual(keys(), ["a/x", "a/y", "b/x"])
        self.assertEqual(keys("a"), ["a/x", "a/y"])
        self.assertEqual(keys(labels="app=2"), ["a/y"])
        self.assertEqual(keys(fields="metadata.name=x"), ["a/x", "b/x"])
        self.assertEqual(keys("b", labels="app"), [])

    def test_update_needs_the_version(self) -> None:
        """An update that names a version that is no longer stored is a Conflict (reference DESIGN-24, WRITE-10)."""
        first = self.world.config_map("x")
        self.world.patch("configmaps", "x", {"labels": {"a": "1"}})
        with self.assertRaises(Conflict):
            self.world.run(self.client.update(self.config_maps, "a", "x", first))

    def test_given_object_is_kept(self) -> None:
        """An update changes nothing of the object that it is given, nor does the stored one share parts with it."""
        created = self.world.config_map("x", labels={"app": "1"})
        given = {**created, "data": {"k": "v"}}
        before = deepcopy(given)
        self.world.run(self.client.update(self.config_maps, "a", "x", given))
        self.world.patch("configmaps", "x", {"labels": {"app": "2"}})
        self.assertEqual(given, before)

    def test_writers_take_turns(self) -> None:
        """Writers whose writes were committed together each go on in a turn that has time for them."""
        turns, seconds = self.world.cacher.turns, [0.0]
        self.patch(turns, "seconds", lambda: seconds[0])
        had_time: list[tuple[bool, bool]] = []

        async def write(name: str) -> None:
            await self.client.create(self.config_maps, "a", {"metadata": {"name": name}})
            before = turns.end() > seconds[0]
            seconds[0] += 1
            had_time.append((before, turns.end() > seconds[0]))

        for name in "xyz":
            ensureDeferred(write(name))
        self.world.clock.advance(0)
        self.assertEqual(had_time, [(True, False)] * 3)

    def test_no_more_than_the_name(self) -> None:
        """A writer that does not want the whole object gets its name, namespace and version, and nothing is read."""
        client, made = self.world.client, {"metadata": {"name": "x"}, "data": {"k": "v"}}
        created = self.world.run(client.create(self.config_maps, "a", made, whole=False))
        version = self.world.get("configmaps", "x")
        assert version is not None
        expected = {"name": "x", "namespace": "a", "resourceVersion": version["metadata"]["resourceVersion"]}
        self.assertEqual(created, {"metadata": expected})
        changes = {"data": {"k": "w"}}
        patched = self.world.run(client.patch(self.config_maps, "a", "x", changes, whole=False))
        self.assertEqual(patched["metadata"].keys(), expected.keys())
        stored = self.world.get("configmaps", "x")
        assert stored is not None
        self.assertEqual(stored["data"], changes["data"])
        self.assertEqual(stored["metadata"]["resourceVersion"], patched["metadata"]["resourceVersion"])
        namespace = self.world.resource("namespaces")
        made = {"metadata": {"name": "c"}}
        created = self.world.run(client.create(namespace, "", made, whole=False))
        self.assertEqual(created["metadata"].keys(), {"name", "resourceVersion"})

    def test_patch_with_preconditions(self) -> None:
        """A patch merges; a uid in it that is not the object's is a Conflict."""
        self.world.config_map("x", labels={"a": "1", "b": "2"})
        patched = self.world.patch("configmaps", "x", {"labels": {"a": None, "c": "3"}})
        self.assertEqual(patched["metadata"]["labels"], {"b": "2", "c": "3"})
        with self.assertRaises(Conflict):
            self.world.patch("configmaps", "x", {"uid": "another"})
        with self.assertRaises(NotFound):
            self.world.patch("configmaps", "y", {})

    def test_delete(self) -> None:
        """Delete reports whether the object is gone; preconditions can prevent it."""
        self.world.config_map("x", finalizers=["example.com/f"])
        delete = self.client.delete
        with self.assertRaises(Conflict):
            self.world.run(delete(self.config_maps, "a", "x", DeleteOptions(precondition_uid="another")))
        self.assertFalse(self.world.run(delete(self.config_maps, "a", "x")))
        self.world.patch("configmaps", "x", {"finalizers": None})
        with self.assertRaises(NotFound):
            self.world.run(delete(self.config_maps, "a", "x"))
        self.world.config_map("x")
        self.assertTrue(self.world.run(delete(self.config_maps, "a", "x")))

    def test_delete_collection(self) -> None:
        """Everything that matches in the namespace is deleted, nothing else (reference DEL-12)."""
        self.world.namespace("b")
        for number in range(200):
            self.world.config_map(f"x{number}", labels={"odd": str(number % 2)})
        self.world.config_map("x", namespace="b")
        run = self.world.run
        self.assertEqual(run(self.client.delete_collection(self.config_maps, "a", labels="odd=1")), 100)
        self.assertEqual(run(self.client.delete_collection(self.config_maps, "a")), 100)
        self.assertEqual((self.world.names("configmaps"), self.world.names("configmaps", "b")), ([], ["x"]))

    def test_resources(self) -> None:
        """Each stored kind is one resource, whatever version or group it is named by."""
        resources = self.world.run(self.client.discover()).resources
        self.assertEqual(len({(each.group, each.plural) for each in resources}), len(resources))
        events = [each for each in resources if each.plural == "events"]
        self.assertEqual(len(events), 1)
        self.assertIs(self.world.resource("events", "events.orch.io/v1"), self.world.resource("events"))
        self.assertIs(self.client.resource_of("v1", "ConfigMap"), self.config_maps)
        self.assertIsNone(self.client.resource_of("example.com/v1", "Widget"))
        self.assertRaises(KeyError, self.client.resource, "", "v1", "widgets")

    def test_watch_from_a_list(self) -> None:
        """A watch hands on what happened since the list, then what happens, until it is stopped."""
        listing = self.world.run(self.client.list(self.config_maps))
        self.world.config_map("x")
        recorder = Recorder()
        watch = self.client.watch(self.config_maps, listing.version, recorder)
        self.world.config_map("y")
        self.world.run(self.client.delete(self.config_maps, "a", "x"))
        self.assertEqual(recorder.told, ["+a/x", "+a/y", "-a/x"])
        watch.stop()
        self.world.config_map("z")
        self.assertEqual(len(recorder.told), 3)

    def test_watch_from_too_long_ago(self) -> None:
        """A version that the log has dropped ends the watch with Expired (410)."""
        self.registry_log().oldest = 10
        recorder = Recorder()
        self.client.watch(self.config_maps, "5", recorder)
        self.assertEqual(recorder.told, [Expired.__name__])

    def test_failing_receiver(self) -> None:
        """A receiver that raises is told to relist, and the writer gets its answer."""
        recorder = Recorder()
        self.client.watch(self.config_maps, str(self.world.cacher.revision), recorder)
        recorder.fails = True
        self.world.config_map("x")
        self.assertEqual(recorder.told, ["Expired"])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_added_resource(self) -> None:
        """A resource that comes up at run time is discovered at once, one for all of its versions, and told of."""
        changes: list[tuple[int, int]] = []
        leave = self.client.follow_discovery(lambda gone, come: changes.append((len(gone), len(come))))
        before = self.world.run(self.client.discover()).resources
        self.world.add_widgets("v1", "v1beta1")
        found = set(self.world.run(self.client.discover()).resources) - set(before)
        self.assertEqual([(each.group, each.version, each.plural) for each in found], [(GROUP, "v1", "widgets")])
        widgets = self.client.resource(GROUP, "v1beta1", "widgets")
        self.assertIs(self.client.resource_of(f"{GROUP}/v1beta1", "Widget"), widgets)
        self.assertIs(self.client.resource("", "v1", "configmaps"), self.config_maps)
        self.world.targets.remove(GROUP, "widgets")
        self.assertEqual(changes, [(0, 1), (1, 0)])
        self.assertIsNone(self.client.resource_of(f"{GROUP}/v1", "Widget"))
        self.assertRaises(KeyError, self.client.resource, GROUP, "v1", "widgets")
        with self.assertRaises(NotFound):
            self.world.run(self.client.list(widgets))
        leave()
        self.world.add_widgets()
        self.assertEqual(len(changes), 2)

    def test_objects_that_stand_alone(self) -> None:
        """A plain object is told from owned and terminating ones; custom ones always take a closer look."""
        self.world.add_widgets()
        owner = self.world.config_map("owner")
        self.world.config_map("owned", owner)
        self.world.config_map("ending", finalizers=["example.com/f"])
        self.world.run(self.client.delete(self.config_maps, "a", "ending"))
        self.world.create("widgets", "w", group_version=f"{GROUP}/v1")
        widgets = self.client.resource(GROUP, "v1", "widgets")
        expected = {"owner": True, "owned": False, "ending": False, "w": False}
        for name, alone in expected.items():
            resource = widgets if name == "w" else self.config_maps
            item = self.world.run(self.client.find(resource, "a", name))
            assert item is not None
            self.assertIs(item.stands_alone(), alone, name)

    def test_objects_of_an_added_resource(self) -> None:
        """Objects without a Protobuf form are read and written as all others, ties included."""
        self.world.add_widgets()
        owner = self.world.config_map("owner")
        made = self.world.create("widgets", "w", owner, group_version=f"{GROUP}/v1", finalizers=["example.com/f"])
        widgets = self.client.resource(GROUP, "v1", "widgets")
        item = self.world.run(self.client.find(widgets, "a", "w"))
        assert item is not None
        self.assertEqual((item.load(), item.metadata()), (made, made["metadata"]))
        meta = item.owner_metadata()
        self.assertEqual((meta.uid, meta.finalizers), (made["metadata"]["uid"], ("example.com/f",)))
        self.assertEqual([each.uid for each in meta.owners], [owner["metadata"]["uid"]])
        patched = self.world.run(self.client.patch(widgets, "a", "w", {"metadata": {"finalizers": None}}))
        self.assertNotIn("finalizers", patched["metadata"])
        self.assertEqual(self.world.run(self.client.delete_collection(widgets, "a")), 1)

    def test_watch_on_a_removed_resource(self) -> None:
        """A watch ends when its resource is removed, which is not an error; another one is not found."""
        self.world.add_widgets()
        widgets = self.client.resource(GROUP, "v1", "widgets")
        recorder = Recorder()
        self.client.watch(widgets, str(self.world.cacher.revision), recorder)
        self.world.create("widgets", "w", group_version=f"{GROUP}/v1")
        self.world.targets.remove(GROUP, "widgets")
        self.assertEqual(recorder.told, ["+a/w", "NoneType"])
        with self.assertRaises(NotFound):
            self.client.watch(widgets, "1", recorder)

    def test_write_under_way(self) -> None:
        """A write that is on its way to the store when its resource is removed is answered, and has happened."""
        self.world.add_widgets()
        widgets = self.client.resource(GROUP, "v1", "widgets")
        writing = ensureDeferred(self.client.create(widgets, "a", {"metadata": {"name": "w"}}))
        self.assertNoResult(writing)
        self.world.targets.remove(GROUP, "widgets")
        self.world.settle()
        self.assertEqual(self.successResultOf(writing)["metadata"]["name"], "w")
        self.world.add_widgets()
        found = self.world.run(self.client.list(self.client.resource(GROUP, "v1", "widgets"), "a"))
        self.assertEqual([item.name for item in found.items], ["w"])

    def registry_log(self) -> EventLog:
        """The event log of config maps."""
        return self.world.targets.stored_target("", "v1", "configmaps").stored.cache.log


class OwnerMetadataTests(WorldTestCase):
    """The short cut says of every object what its decoded metadata says."""

    def check(self, obj: Object) -> OwnerMetadata:
        codec = self.world.codecs.kind("v1", "ConfigMap")
        canonical = codec.normalise(obj)
        read = OwnerMetadataReader().read(codec.encode_protobuf(canonical))
        assert read is not None
        self.assertEqual(read, OwnerMetadata.of(canonical["metadata"]))
        return read

    def test_loose(self) -> None:
        """An object without owners has a uid only."""
        self.assertEqual(self.check({"metadata": {"name": "x", "uid": "u"}}), OwnerMetadata("u"))

    def test_everything(self) -> None:
        """Owners, finalizers and termination are read past long labels, and before managed fields."""
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "o", "uid": "w"}}
        meta = {
            "name": "x", "namespace": "a", "uid": "u", "generation": 300, "resourceVersion": "12",
            "creationTimestamp": "2024-01-01T00:00:00Z", "deletionTimestamp": "2024-01-01T00:00:01Z",
            "deletionGracePeriodSeconds": 1000, "labels": {"l": "v" * 60}, "annotations": {"n": "v" * 5000},
            "ownerReferences": [reference(owner), {**reference(owner, blocking=False), "controller": True}],
            "finalizers": ["example.com/f", "orphan"],
            "managedFields": [{"manager": "m", "operation": "Update", "apiVersion": "v1"}],
        }
        meta_of = self.check({"metadata": meta})
        references = (OwnerReference("w", "v1", "ConfigMap", "o", True), OwnerReference("w", "v1", "ConfigMap", "o"))
        self.assertEqual(meta_of, OwnerMetadata("u", references, ("example.com/f", "orphan"), True))

    def test_shared(self) -> None:
        """Dependents of one owner share their reference."""
        codec = self.world.codecs.kind("v1", "ConfigMap")
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "o", "uid": "w"}}
        reader = OwnerMetadataReader()
        first, second = (
            reader.read(codec.encode_protobuf(codec.normalise({"metadata": {"name": n, "ownerReferences": [owner]}})))
            for n, owner in (("x", reference(owner)), ("y", reference(owner)))
        )
        assert first and second
        self.assertIs(first.owners[0], second.owners[0])

    def test_other_encodings(self) -> None:
        """An encoding that does not begin with metadata is left to its codec."""
        self.assertIsNone(OwnerMetadataReader().read(b'{"metadata":{}}'))

"""Attributes that plugins see of each kind of write, and effects of their changes (reference ADM-1, ADM-8)."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

from orchtw.admission.attributes import Attributes
from orchtw.admission.chain import ChainPlugin
from orchtw.errors import BadRequest, Forbidden, Invalid
from orchtw.registry.target import Convert
from orchtw.rules.write_options import WriteOptions
from orchtw.wire.objects import Object
from tests.registry.writing import USER, Rival, WriteTestCase

PDB = {"metadata": {"name": "x"}, "spec": {"minAvailable": 1}}


class Seen:
    """A step that notes what it saw, and edits the object if it is told how."""

    def __init__(self, edit: object = None) -> None:
        self.attributes: list[Attributes] = []
        self.names: list[str] = []
        self.objects: list[tuple[Object | None, Object | None]] = []
        self._edit = edit

    async def __call__(self, attributes: Attributes) -> None:
        self.attributes.append(attributes)
        self.names.append(attributes.name)
        self.objects.append(deepcopy((attributes.obj, attributes.old)))
        if self._edit is not None:
            self._edit(await attributes.edit())  # type: ignore[operator]


class ViewTests(WriteTestCase):
    """Attributes that plugins are shown."""

    def setUp(self) -> None:
        super().setUp()
        self.first, self.second = Seen(), Seen()
        self.plugin.mutate, self.plugin.check = self.first, self.second

    def test_create(self) -> None:
        """A create shows the object without UID before, and as it is to be stored afterwards."""
        self.create({"metadata": {"name": "x"}}, options=WriteOptions(field_manager="me"))
        (before,), (after,) = self.first.objects, self.second.objects
        assert before[0] is not None and after[0] is not None
        self.assertNotIn("uid", before[0]["metadata"])
        self.assertTrue(after[0]["metadata"]["uid"])
        self.assertEqual(before[0]["metadata"]["namespace"], "a")
        asked = self.first.attributes[0]
        self.assertIsNone(asked.old)
        self.assertEqual((asked.operation, asked.namespace, asked.name), ("CREATE", "a", "x"))
        self.assertIs(asked.user, USER)
        self.assertEqual((asked.options or {})["fieldManager"], "me")

    def test_generated_name(self) -> None:
        """A name yet to be generated is not shown to mutating plugins; validating ones see it."""
        made = self.create({"metadata": {"generateName": "web-"}})
        self.assertEqual((self.first.names, self.second.names), ([""], [made["metadata"]["name"]]))

    def test_request_version(self) -> None:
        """Both objects are in the version of the request, in both passes; the store keeps its own."""
        budgets = self.target("poddisruptionbudgets", "policy/v1beta1")
        self.create(PDB, budgets)
        self.put({**PDB, "spec": {"minAvailable": 2}}, budgets, from_live=True)
        self.delete("x", budgets)
        versions = [
            obj["apiVersion"]
            for seen in (self.first, self.second)
            for pair in seen.objects
            for obj in pair
            if obj is not None
        ]
        self.assertEqual(versions, ["policy/v1beta1"] * 8)
        self.assertEqual({each.resource.version for each in self.first.attributes}, {"v1beta1"})
        self.assertEqual(budgets.stored.codec.api_version, "policy/v1")

    def test_update(self) -> None:
        """An update shows the wanted object and the live one."""
        self.config_map()
        self.set_data("new")
        new, old = self.second.objects[-1]
        assert new is not None and old is not None
        self.assertEqual((old["data"], new["data"]), ({"key": "old"}, {"key": "new"}))
        self.assertEqual(self.second.attributes[-1].operation, "UPDATE")

    def test_delete(self) -> None:
        """A delete shows the live object and the options, in both passes."""
        self.config_map()
        self.delete(grace_period_s=0)
        for seen in (self.first, self.second):
            asked = seen.attributes[-1]
            self.assertEqual((asked.operation, asked.obj), ("DELETE", None))
            self.assertEqual((asked.old or {})["metadata"]["name"], "x")
            self.assertEqual((asked.options or {})["gracePeriodSeconds"], 0)

    def test_dry_run(self) -> None:
        """A dry run passes all plugins, and they are told."""
        self.config_map()
        self.set_data("new", dry_run=True)
        self.delete(dry_run=True)
        self.create({"metadata": {"name": "y"}}, dry_run=True)
        self.assertEqual([each.dry_run for each in self.second.attributes], [False, True, True, True])

    def test_last_finalizer(self) -> None:
        """The update that removes the object is an UPDATE."""
        self.config_map(finalizers=["example.com/wait"])
        self.delete()

        def freed(live: Object | None) -> Object:
            assert live is not None
            live["metadata"].pop("finalizers")
            return live

        self.update(freed)
        self.assertIsNone(self.live())
        self.assertEqual([each.operation for each in self.second.attributes], ["CREATE", "DELETE", "UPDATE"])

    def test_create_by_update(self) -> None:
        """A PUT that creates is a CREATE with CreateOptions."""
        self.put({"metadata": {"name": "e"}}, self.target("endpoints"))
        asked = self.first.attributes[0]
        self.assertEqual((asked.operation, (asked.options or {})["kind"]), ("CREATE", "CreateOptions"))

    def test_namespaces(self) -> None:
        """A Namespace is in itself, as in its path."""
        self.create({"metadata": {"name": "n"}}, self.target("namespaces"))
        self.assertEqual((self.first.attributes[0].namespace, self.first.attributes[0].name), ("n", "n"))

    def test_admitted(self) -> None:
        """A write that is a part of a request which admission has seen is not shown again."""
        self.config_map()
        self.set_data("new", admitted=True)
        self.assertEqual(len(self.first.attributes), 1)

    def test_each_try(self) -> None:
        """A write that was overtaken is admitted again, from the newer object."""
        self.config_map()
        seen, rival = Seen(), Rival(lambda: self.label(by="rival"))

        async def check(attributes: Attributes) -> None:
            await seen(attributes)
            if (waiting := rival(attributes)) is not None:
                await waiting

        self.plugin.check = check
        self.set_data("new")
        labels = [(old or {})["metadata"].get("labels") for _, old in seen.objects]
        self.assertEqual(labels, [None, {"by": "rival"}])


class ChangeTests(WriteTestCase):
    """Effects of changes by plugins."""

    def edits(self, edit: object) -> None:
        self.plugin.mutate = Seen(edit)

    def test_edit(self) -> None:
        """An edit is stored, in the order of emission, and comes back the same from the store."""
        self.edits(lambda obj: obj["metadata"].update(labels={"b": "1", "a": "2"}, annotations={"c": "d"}))
        made = self.config_map()
        self.assertEqual(made["metadata"]["labels"], {"b": "1", "a": "2"})
        entry = self.maps.stored.get("a", "x")
        assert entry is not None
        value = self.world.store.items["/registry/configmaps/a/x"]
        again = self.maps.stored.build(entry.key, value.value, entry.revision)
        self.assertEqual(self.maps.stored.json_tail(again), entry.json)

    def test_replacement(self) -> None:
        """An assigned object is what is stored, with the defaults of its kind."""

        def replace(attributes: Attributes) -> None:
            assert attributes.obj is not None
            attributes.obj = {**attributes.obj, "spec": {"containers": [{"name": "c", "image": "i"}]}}

        self.plugin.mutate = replace
        pods = self.target("pods")
        made = self.create({"metadata": {"name": "p"}, "spec": {"containers": []}}, pods)
        self.assertEqual(made["spec"]["containers"][0]["terminationMessagePolicy"], "File")

    def test_update(self) -> None:
        """The same of an update."""
        self.config_map()
        self.edits(lambda obj: obj["data"].update(more="x"))
        self.set_data("new")
        self.assertEqual(self.data(), {"key": "new", "more": "x"})

    def test_other_version(self) -> None:
        """A change that was made in the request's version arrives in the stored one."""
        self.edits(lambda obj: obj["spec"].update(minAvailable=5))
        budgets = self.target("poddisruptionbudgets", "policy/v1beta1")
        self.create(PDB, budgets)
        entry = budgets.stored.get("a", "x")
        assert entry is not None
        stored = budgets.stored.load(entry)
        self.assertEqual((stored["apiVersion"], stored["spec"]["minAvailable"]), ("policy/v1", 5))

    def test_nobody_owns_it(self) -> None:
        """Fields that a plugin adds have no owner: the writer owns what was sent (reference WRITE-3)."""
        self.edits(lambda obj: obj["data"].update(added="x"))
        made = self.create({"metadata": {"name": "x"}, "data": {"sent": "y"}}, manager="me")
        (entry,) = made["metadata"]["managedFields"]
        self.assertEqual(set(entry["fieldsV1"]["f:data"]), {".", "f:sent"})
        self.assertEqual(made["data"], {"added": "x", "sent": "y"})

    def test_tries_do_not_add_up(self) -> None:
        """An apply that was overtaken starts from what was sent, not from what a plugin made of it."""
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "labels": {"a": "b"}}}
        self.config_map()
        counts = iter(range(10))
        self.edits(lambda obj: obj["metadata"]["labels"].update({f"try-{next(counts)}": "x"}))
        self.plugin.check = Rival(lambda: self.label(by="rival"))
        fields = self.writes.field_manager(self.maps, "")
        now = self.writes.timestamp()
        written = self.update(
            lambda live: fields.on_apply(live, document, "me", now, force=True).obj, applies=True, from_live=True
        )
        meta = self.maps.load(written.entry)["metadata"]
        self.assertEqual(meta["labels"], {"a": "b", "by": "rival", "try-1": "x"})
        (entry,) = [each for each in meta["managedFields"] if each["manager"] == "me"]
        self.assertEqual(entry["fieldsV1"], {"f:metadata": {"f:labels": {"f:a": {}}}})
        self.assertEqual(document["metadata"], {"name": "x", "labels": {"a": "b"}})

    def test_name(self) -> None:
        """A plugin may name a new object, also one that was to get a generated name, unless the request's path does.

        An old one keeps its name.
        """
        self.edits(lambda obj: obj["metadata"].update(name="chosen"))
        self.assertEqual(self.create({"metadata": {"generateName": "web-"}})["metadata"]["name"], "chosen")
        self.assertRaises(BadRequest, self.put, {"metadata": {"name": "e"}}, self.target("endpoints"))
        self.plugin.mutate = Seen()
        self.config_map()
        self.edits(lambda obj: obj["metadata"].update(name="chosen"))
        self.assertRaises(Invalid, self.set_data, "new")

    def test_namespace(self) -> None:
        """No plugin moves a new object to another namespace: 400."""
        self.edits(lambda obj: obj["metadata"].update(namespace="b"))
        self.assertRaises(BadRequest, self.config_map)

    def test_rubbish(self) -> None:
        """A plugin that leaves no object of the kind refuses the write: 400."""
        self.edits(lambda obj: obj.update(data=7))
        self.assertRaises(BadRequest, self.config_map)
        self.assertIsNone(self.live())

    def test_status(self) -> None:
        """At /status a plugin changes the status, and no more than the request itself could."""
        pods = self.target("pods")
        self.create({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}, pods)

        def edit(obj: Object) -> None:
            obj["status"]["reason"] = "Plugin"
            obj["spec"]["containers"][0]["image"] = "other"

        self.edits(edit)

        def running(live: Object | None) -> Object:
            assert live is not None
            return {**live, "status": {"phase": "Running"}}

        self.update(running, "p", pods, subresource="status")
        after = self.live("p", pods)
        assert after is not None
        self.assertEqual((after["status"]["phase"], after["status"]["reason"]), ("Running", "Plugin"))
        self.assertEqual(after["spec"]["containers"][0]["image"], "i")

    def test_refused(self) -> None:
        """A refusal in either pass ends the write, and nothing is stored."""
        self.config_map()
        before = self.world.store.now
        for half in ("mutate", "check"):
            with self.plugin.refusing(half):
                self.assertRaises(Forbidden, self.set_data, "new")
                self.assertRaises(Forbidden, self.delete)
                self.assertRaises(Forbidden, self.config_map, "y")
        self.assertEqual(self.world.store.now, before)


class UnaskedTests(WriteTestCase):
    """A chain without plugins of the test's own."""

    def plugins(self) -> Sequence[ChainPlugin]:
        return []

    def test_nothing_is_converted(self) -> None:
        """Where no plugin looks, no object is converted for it: once into the store, and once to be answered."""
        budgets = self.target("poddisruptionbudgets", "policy/v1beta1")
        counts = {"to_storage": 0, "from_storage": 0}

        def counted(name: str) -> Convert:
            convert: Convert = getattr(budgets, name)

            def counting(obj: Object) -> Object:
                counts[name] += 1
                return convert(obj)

            return counting

        self.patch(budgets, "to_storage", counted("to_storage"))
        self.patch(budgets, "from_storage", counted("from_storage"))
        write = self.write(budgets)
        self.world.run(self.writes.create(write, self.canonical(budgets, PDB)))
        self.assertEqual(counts, {"to_storage": 1, "from_storage": 0})
        self.delete("x", budgets)
        self.assertEqual(counts, {"to_storage": 1, "from_storage": 0})

"""Tests of `orchtw.apply.field_manager`, `conflict` and `last_applied`, on built-in kinds."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply.field_manager import FieldManager
from orchtw.apply.field_set import FieldSet
from orchtw.apply.merge_type import Types
from orchtw.apply.path_element import Key, Value
from orchtw.apply.server_side_apply import OneVersion
from orchtw.errors import BadRequest, Conflict
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.wire.objects import Object

NAMING = Naming.orch()
FIRST, LATER = "2022-05-03T00:00:00Z", "2022-05-04T00:00:00Z"
ANNOTATION = "kubectl.orch.io/last-applied-configuration"


@cache
def codecs() -> Codecs:
    return Codecs(Catalogue.load(NAMING))


def finished(api_version: str, kind: str, obj: Object) -> Object:
    codec = codecs().kind(api_version, kind)
    out = codec.normalise(obj)
    codec.set_defaults(out)
    return out


def field_manager(api_version: str = "v1", kind: str = "ConfigMap", **more: Any) -> FieldManager:
    codec = codecs().kind(api_version, kind)
    return FieldManager(
        OneVersion(api_version, Types().root(codec.schema)),
        api_version,
        kind,
        NAMING,
        empty=codec.normalise({}),
        finish=lambda obj, live: finished(api_version, kind, obj),
        **more,
    )


def config_map(data: dict[str, str] | None = None, **meta: Any) -> Object:
    obj: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n", **meta}}
    if data is not None:
        obj["data"] = data
    return obj


def live_of(obj: Object, version: str = "7") -> Object:
    """A stored object as it is loaded."""
    stored = deepcopy(obj)
    stored["metadata"].update(uid="u", resourceVersion=version, creationTimestamp=FIRST)
    return finished(stored["apiVersion"], stored["kind"], stored)


def entries(obj: Object) -> dict[str, Object]:
    return {entry["manager"]: entry for entry in obj["metadata"].get("managedFields", [])}


class UpdateTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.manager = field_manager()
        self.live = self._created({"a": "1", "b": "1"}, "ensurer")

    def _created(self, data: dict[str, str], who: str) -> Object:
        obj = finished("v1", "ConfigMap", config_map(data, labels={"l": "1"}))
        obj["metadata"]["managedFields"] = self.manager.on_update(None, obj, who, FIRST)
        return live_of(obj)

    def test_create_owns_all(self) -> None:
        """A create's entry has every field and container but those that nobody owns (reference APPLY-4)."""
        self.assertEqual(
            self.live["metadata"]["managedFields"],
            [
                {
                    "manager": "ensurer",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": FIRST,
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {
                        "f:data": {".": {}, "f:a": {}, "f:b": {}},
                        "f:metadata": {"f:labels": {".": {}, "f:l": {}}},
                    },
                }
            ],
        )

    def test_create_of_a_deployment(self) -> None:
        """Defaults are the creator's, atomic parts are one leaf, structs in place have no "."
        (reference APPLY-2, APPLY-4).
        """
        container = {"name": "c1", "image": "i", "ports": [{"containerPort": 80}]}
        obj = finished(
            "apps/v1",
            "Deployment",
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "d"},
                "spec": {
                    "selector": {"matchLabels": {"a": "b"}},
                    "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
                    "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}},
                },
            },
        )
        (entry,) = field_manager("apps/v1", "Deployment").on_update(None, obj, "m", FIRST)
        spec = entry["fieldsV1"]["f:spec"]
        self.assertNotIn(".", spec)
        self.assertEqual(spec["f:selector"], {})
        self.assertEqual(
            spec["f:strategy"], {"f:rollingUpdate": {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}}, "f:type": {}}
        )
        self.assertEqual(spec["f:template"]["f:metadata"], {"f:labels": {".": {}, "f:a": {}}})
        item = spec["f:template"]["f:spec"]["f:containers"]['k:{"name":"c1"}']
        self.assertEqual(
            item["f:ports"],
            {".": {}, 'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}, "f:protocol": {}}},
        )

    def _update(self, manager: str = "other", entries: Any = None, **data: str) -> list[Object]:
        new = live_of(config_map(data, labels={"l": "1"}))
        new["metadata"]["managedFields"] = self.live["metadata"]["managedFields"] if entries is None else entries
        return self.manager.on_update(self.live, new, manager, LATER)

    def test_no_change_keeps_the_entries(self) -> None:
        """The very entries stay, times included."""
        self.assertIs(self._update(a="1", b="1"), self.live["metadata"]["managedFields"])

    def test_change_moves_the_field(self) -> None:
        """A changed field passes to the writer; the former owner's entry keeps its time."""
        made = {entry["manager"]: entry for entry in self._update(a="2", b="1")}
        other, ensurer = made["other"], made["ensurer"]
        self.assertEqual((other["manager"], other["time"]), ("other", LATER))
        self.assertEqual(other["fieldsV1"], {"f:data": {"f:a": {}}})
        self.assertEqual((ensurer["manager"], ensurer["time"]), ("ensurer", FIRST))
        self.assertEqual(ensurer["fieldsV1"]["f:data"], {".": {}, "f:b": {}})

    def test_own_value_changed_keeps_the_time(self) -> None:
        """The time moves when the set changes, not with every value (reference APPLY-8)."""
        self.assertIs(self._update("ensurer", a="2", b="1"), self.live["metadata"]["managedFields"])
        (entry,) = self._update("ensurer", a="2", b="1", c="1")
        self.assertEqual(entry["time"], LATER)

    def test_absent_empty_or_bad_entries_keep_the_live_ones(self) -> None:
        """Entries that a client dropped or spoilt do not count (reference APPLY-12)."""
        for sent in ([], [{"manager": "x", "operation": "Nope"}], [{"fieldsType": "FieldsV2"}]):
            with self.subTest(sent):
                self.assertIs(self._update(entries=sent, a="1", b="1"), self.live["metadata"]["managedFields"])

    def test_readable_entries_of_a_write_count(self) -> None:
        """A client may remove entries in a read-modify-write, as when it migrates ownership (reference APPLY-12)."""
        mine = {
            "manager": "x",
            "operation": "Apply",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:a": {}}},
        }
        self.assertEqual([entry["manager"] for entry in self._update(entries=[mine], a="1", b="1")], ["x"])

    def test_reset_forgets(self) -> None:
        """One empty entry clears all (reference APPLY-12)."""
        self.assertEqual(self._update(entries=[{}], a="1", b="1"), [])

    def test_reset_comes_first(self) -> None:
        """The writer then owns what else the request changed, and only that."""
        (entry,) = self._update(entries=[{}], a="1", b="2")
        self.assertEqual((entry["manager"], entry["fieldsV1"]), ("other", {"f:data": {"f:b": {}}}))

    def test_untracked_object_stays_so(self) -> None:
        """An update gives no entries to an object that has none (reference APPLY-13)."""
        del self.live["metadata"]["managedFields"]
        self.assertEqual(self._update(entries=[], a="2", b="1"), [])

    def test_subresources_have_entries_of_their_own(self) -> None:
        """The sub-resource is part of the entry, what the endpoint resets is not recorded, nor what it sends."""
        pod = live_of(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p"},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            }
        )
        pod["metadata"]["managedFields"] = field_manager(kind="Pod").on_update(None, pod, "ensurer", FIRST)
        new = deepcopy(pod)
        new["status"]["phase"] = "Running"
        new["spec"]["nodeName"] = "x"
        new["metadata"]["managedFields"] = [{}]
        status = field_manager(kind="Pod", subresource="status", reset_fields={"v1": FieldSet.named("spec")})
        made = {entry["manager"]: entry for entry in status.on_update(pod, new, "agent", LATER)}
        self.assertEqual(set(made), {"ensurer", "agent"})
        self.assertEqual(
            (made["agent"]["subresource"], made["agent"]["fieldsV1"]), ("status", {"f:status": {"f:phase": {}}})
        )

    def test_eleventh_updater_evicts(self) -> None:
        """Update entries are capped (reference APPLY-9)."""
        for n in range(12):
            data = {"a": "1", "b": "1", **{f"k{m}": "1" for m in range(n + 1)}}
            made = self._update(f"w{n}", **data)
            self.live = live_of(config_map(data, labels={"l": "1"}))
            self.live["metadata"]["managedFields"] = made
        self.assertEqual(len(made), 10)
        self.assertIn("ancient-changes", {entry["manager"] for entry in made})


class ApplyTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.manager = field_manager()
        self.live = live_of(self.manager.on_apply(None, config_map({"a": "1"}), "me", FIRST).obj)

    def _apply(self, obj: Object, who: str = "me", **more: Any) -> Object:
        applied = self.manager.on_apply(self.live, obj, who, LATER, **more)
        self.assertTrue(applied.changed)
        return applied.obj

    def test_create(self) -> None:
        """An apply to nothing gives a whole object in canonical form with one entry."""
        made = self.manager.on_apply(None, config_map({"a": "1"}), "me", FIRST).obj
        self.assertEqual(list(made), ["kind", "apiVersion", "metadata", "data"])
        self.assertEqual(
            made["metadata"]["managedFields"],
            [
                {
                    "manager": "me",
                    "operation": "Apply",
                    "apiVersion": "v1",
                    "time": FIRST,
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:data": {"f:a": {}}},
                }
            ],
        )

    def test_noop_is_the_live_object(self) -> None:
        """The same apply again gives the live object itself, version and times included (reference APPLY-23)."""
        applied = self.manager.on_apply(self.live, config_map({"a": "1"}), "me", LATER)
        self.assertFalse(applied.changed)
        self.assertIs(applied.obj, self.live)

    def test_noop_in_other_spelling(self) -> None:
        """A quantity spelled otherwise is not a change once the object is canonical."""
        manager = field_manager(kind="Pod")
        resources = {"requests": {"cpu": "1000m"}}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]},
        }
        live = live_of(manager.on_apply(None, pod, "me", FIRST).obj)
        self.assertFalse(manager.on_apply(live, pod, "me", LATER).changed)

    def test_change_moves_the_time(self) -> None:
        """An entry's time is that of its last apply with an effect; the version is left for the write path."""
        obj = self._apply(config_map({"a": "2"}))
        self.assertEqual(entries(obj)["me"]["time"], LATER)
        self.assertNotIn("resourceVersion", obj["metadata"])
        self.assertEqual(obj["metadata"]["uid"], "u")

    def test_sharing_alone_is_a_change(self) -> None:
        """A manager that comes to share a field without changing its value gets an entry."""
        obj = self._apply(config_map({"a": "1"}), "you")
        self.assertEqual({name: entry["time"] for name, entry in entries(obj).items()}, {"me": FIRST, "you": LATER})

    def test_left_out_goes(self) -> None:
        """A field left out by its only owner is removed, and its default comes back if it has one."""
        self.assertNotIn("data", self._apply(config_map()))
        manager = field_manager("apps/v1", "Deployment")
        deployment = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d"},
            "spec": {
                "replicas": 5,
                "selector": {"matchLabels": {"a": "b"}},
                "template": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            },
        }
        live = live_of(manager.on_apply(None, deployment, "me", FIRST).obj)
        del deployment["spec"]["replicas"]  # type: ignore[attr-defined]
        self.assertEqual(manager.on_apply(live, deployment, "me", LATER).obj["spec"]["replicas"], 1)

    def test_conflict(self) -> None:
        """409 with a cause per field, texts as reference ERR-10 has them."""
        error = self.assertRaises(Conflict, self.manager.on_apply, self.live, config_map({"a": "2"}), "you", LATER)
        self.assertEqual(error.message, 'Apply failed with 1 conflict: conflict with "me": .data.a')
        self.assertEqual(
            error.details,
            {"causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "me"', "field": ".data.a"}]},
        )

    def test_conflicts_with_updaters(self) -> None:
        """Several are listed by manager; updaters are told with version, sub-resource and time."""
        new = deepcopy(self.live)
        new["data"].update(k="1", z="1")
        status = field_manager(subresource="status")
        new["metadata"]["managedFields"] = status.on_update(self.live, new, "bot", FIRST)
        applied = config_map({"a": "2", "k": "2", "z": "2"})
        error = self.assertRaises(Conflict, self.manager.on_apply, new, applied, "you", LATER)
        self.assertEqual(
            error.message,
            "Apply failed with 3 conflicts: "
            f'conflicts with "bot" with subresource "status" using v1 at {FIRST}:\n- .data.k\n- .data.z\n'
            'conflicts with "me":\n- .data.a',
        )

    def test_force(self) -> None:
        """Forced, the value and the ownership move."""
        obj = self._apply(config_map({"a": "2"}), "you", force=True)
        self.assertEqual((obj["data"], set(entries(obj))), ({"a": "2"}, {"you"}))

    def test_before_first_apply(self) -> None:
        """The first apply to an object without entries records what was there (reference APPLY-14)."""
        del self.live["metadata"]["managedFields"]
        obj = self._apply(config_map({"b": "1"}))
        before = entries(obj)["before-first-apply"]
        self.assertEqual((before["operation"], before["fieldsV1"]), ("Update", {"f:data": {".": {}, "f:a": {}}}))
        self.assertRaises(Conflict, self.manager.on_apply, obj, config_map({"a": "2"}), "me", LATER)

    def test_refusals(self) -> None:
        """400 for another version or kind, managedFields, and what does not fit the schema (reference APPLY-19)."""
        for change, text in (
            (
                {"apiVersion": "v2"},
                "Incorrect version specified in apply patch. Specified patch version: v2, expected: v1",
            ),
            ({"kind": "Secret"}, "the kind in the apply patch (Secret) is not the expected kind (ConfigMap)"),
            ({"metadata": {"managedFields": []}}, "metadata.managedFields must be nil"),
            (
                {"foo": 1},
                "failed to create typed patch object (n/c; /v1, Kind=ConfigMap): .foo: field not declared in schema",
            ),
            (
                {"metadata": 1},
                "failed to create typed patch object (/; /v1, Kind=ConfigMap): .metadata: expected map, got numeric",
            ),
        ):
            with self.subTest(text):
                applied = {**config_map(), **change}
                error = self.assertRaises(BadRequest, self.manager.on_apply, self.live, applied, "me", LATER)
                self.assertEqual(error.message, text)

    def test_named_version_is_a_precondition(self) -> None:
        """A resourceVersion in the applied object goes on to the write path unless it is met without a change."""
        self.assertFalse(
            self.manager.on_apply(self.live, config_map({"a": "1"}, resourceVersion="7"), "me", LATER).changed
        )
        for data in ("1", "2"):
            obj = self._apply(config_map({"a": data}, resourceVersion="6"))
            self.assertEqual(obj["metadata"]["resourceVersion"], "6")

    def test_arguments_stay_as_they_are(self) -> None:
        """Neither the live nor the applied object is changed."""
        applied = config_map({"a": "2"}, resourceVersion="7")
        before = deepcopy((self.live, applied))
        self._apply(applied)
        self.assertEqual((self.live, applied), before)


class LastAppliedTests(SynchronousTestCase):
    """From client-side to server-side apply (reference APPLY-29)."""

    def _live(self, applied: dict[str, str], data: dict[str, str]) -> Object:
        text = orjson.dumps(config_map(applied)).decode()
        obj = live_of(config_map(data, annotations={ANNOTATION: text}))
        manager = field_manager()
        obj["metadata"]["managedFields"] = manager.on_update(None, obj, "kubectl-client-side-apply", FIRST)
        return obj

    def test_applied_before_is_no_conflict(self) -> None:
        """A field unchanged since the client last applied it is the client's; the annotation is kept up to date."""
        live = self._live({"a": "1"}, {"a": "1"})
        obj = field_manager().on_apply(live, config_map({"a": "2"}), "kubectl", LATER).obj
        self.assertEqual(obj["data"], {"a": "2"})
        text = obj["metadata"]["annotations"][ANNOTATION]
        self.assertEqual(
            text, '{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"c","namespace":"n"}}\n'
        )

    def test_changed_since_is_a_conflict(self) -> None:
        """A field changed by another client since it was last applied is a conflict."""
        live = self._live({"a": "0"}, {"a": "1"})
        self.assertRaises(Conflict, field_manager().on_apply, live, config_map({"a": "2"}), "kubectl", LATER)

    def test_other_managers_opt_out(self) -> None:
        """Only the one manager migrates."""
        live = self._live({"a": "1"}, {"a": "1"})
        self.assertRaises(Conflict, field_manager().on_apply, live, config_map({"a": "2"}), "me", LATER)

    def test_spoilt_annotation_excuses_nothing(self) -> None:
        """An annotation that is not an object of the version is passed over."""
        live = self._live({"a": "1"}, {"a": "1"})
        live["metadata"]["annotations"][ANNOTATION] = "{"
        self.assertRaises(Conflict, field_manager().on_apply, live, config_map({"a": "2"}), "kubectl", LATER)

    def test_second_apply_is_a_noop(self) -> None:
        """With the annotation refreshed the same apply changes nothing."""
        live = self._live({"a": "1"}, {"a": "1"})
        obj = live_of(field_manager().on_apply(live, config_map({"a": "2"}), "kubectl", LATER).obj)
        self.assertFalse(field_manager().on_apply(obj, config_map({"a": "2"}), "kubectl", LATER).changed)


class HostileTests(SynchronousTestCase):
    def test_depth(self) -> None:
        """An applied object of absurd depth is a 400, wherever it is deep."""
        manager = field_manager("apiextensions.orch.io/v1", "CustomResourceDefinition")
        for wrap in (lambda inner: {"not": inner}, lambda inner: {"example": inner}):
            schema: Object = {}
            for _ in range(2000):
                schema = wrap(schema)
            versions = [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]
            applied = {
                "apiVersion": "apiextensions.orch.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "x"},
                "spec": {"versions": versions},
            }
            with self.subTest(wrap({})):
                self.assertRaises(BadRequest, manager.on_apply, None, applied, "me", FIRST)

    def test_long_keys_are_not_kept(self) -> None:
        """Steps longer than names are not cached: their number and size is the client's choice."""
        fields = FieldSet.of(("list", Key.of(name="x" * 100_000)), ("list", Value("y" * 100_000)))
        self.assertEqual(FieldSet.decode(fields.encode()), fields)
        self.assertEqual(max(map(len, fields.texts())), len('.list[name=""]') + 100_000)

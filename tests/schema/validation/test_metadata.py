"""Rules of ObjectMeta (reference OBJ-1, OBJ-24)."""

from __future__ import annotations

from typing import Any

import msgspec
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.schema.validation.metadata import MetadataRules, validate_create, validate_update
from orchtw.values.names import SUBDOMAIN_NAME

NAMING = Naming.orch()
GOOD: dict[str, Any] = {
    "name": "web-1",
    "namespace": "default",
    "uid": "u1",
    "creationTimestamp": "2024-01-01T00:00:00Z",
    "labels": {"app": "web", "ex.io/tier": ""},
    "annotations": {"Ex.io/Note": "anything ☃"},
    "ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u2", "controller": True}
    ],
    "finalizers": ["orch", "orphan", "ex.io/wait"],
}


RULES = MetadataRules(namespaced=True, name_form=SUBDOMAIN_NAME, free_finalizers=False, naming=NAMING)


def create(meta: dict[str, Any], **more: Any) -> list[Cause]:
    return validate_create(meta, msgspec.structs.replace(RULES, **more))


def update(new: dict[str, Any], old: dict[str, Any]) -> list[Cause]:
    return validate_update(new, old, RULES)


class CreateTests(SynchronousTestCase):
    """Causes of `validate_create` on metadata."""

    def test_good(self) -> None:
        """Ordinary metadata has no causes."""
        self.assertEqual(create(GOOD), [])

    def one(self, change: dict[str, Any], **more: Any) -> Cause:
        causes = create({**GOOD, **change}, **more)
        self.assertEqual(len(causes), 1, causes)
        return causes[0]

    def test_name_required(self) -> None:
        """Neither name nor generateName is a cause on the name (reference OBJ-31)."""
        cause = self.one({"name": ""})
        self.assertEqual(
            cause, Cause("FieldValueRequired", "Required value: name or generateName is required", "metadata.name")
        )

    def test_name_form(self) -> None:
        """A name outside the kind's form is quoted in the cause."""
        cause = self.one({"name": "A_B"})
        self.assertEqual((cause.reason, cause.field), ("FieldValueInvalid", "metadata.name"))
        self.assertTrue(cause.message.startswith('Invalid value: "A_B": a lowercase RFC 1123 subdomain must'))

    def test_generate_name_form(self) -> None:
        """generateName is checked even when a name is given."""
        self.assertEqual(self.one({"generateName": "Ab-"}).field, "metadata.generateName")

    def test_namespace(self) -> None:
        """A namespace is required, and a DNS label, exactly where the kind is namespaced."""
        self.assertEqual(
            self.one({"namespace": ""}), Cause("FieldValueRequired", "Required value", "metadata.namespace")
        )
        self.assertEqual(self.one({"namespace": "a.b"}).reason, "FieldValueInvalid")
        self.assertEqual(
            self.one({}, namespaced=False),
            Cause("FieldValueForbidden", "Forbidden: not allowed on this type", "metadata.namespace"),
        )

    def test_labels(self) -> None:
        """Keys are qualified names and values label values; both are reported at the map."""
        for labels in ({"a b": "x"}, {"a": "x y"}):
            self.assertEqual(self.one({"labels": labels}).field, "metadata.labels")

    def test_annotations(self) -> None:
        """Keys are checked in lower case, and all together have 256 KiB (reference OBJ-25, OBJ-27)."""
        self.assertEqual(self.one({"annotations": {"a b": "x"}}).field, "metadata.annotations")
        self.assertEqual(create({**GOOD, "annotations": {"a": "x" * 262143}}), [])
        self.assertEqual(
            self.one({"annotations": {"a": "x" * 262144}}),
            Cause("FieldValueTooLong", "Too long: must have at most 262144 bytes", "metadata.annotations"),
        )
        self.assertEqual(self.one({"annotations": {"a": "é" * 131072}}).reason, "FieldValueTooLong")

    def test_owners(self) -> None:
        """An owner has version, kind, name and uid, is not an Event, and only one controls (reference OBJ-10)."""
        self.assertEqual(
            [cause.field.rpartition(".")[2] for cause in create({**GOOD, "ownerReferences": [{}]})],
            ["apiVersion", "kind", "name", "uid"],
        )
        event = {"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}
        self.assertIn(
            "/v1, Kind=Event is disallowed from being an owner", self.one({"ownerReferences": [event]}).message
        )
        owner = GOOD["ownerReferences"][0]
        two = [owner, {**owner, "name": "s", "uid": "u3"}]
        self.assertTrue(
            self.one({"ownerReferences": two}).message.endswith(
                'Only one reference can have Controller set to true. Found "true" in references for ReplicaSet/r and '
                "ReplicaSet/s"
            )
        )

    def test_finalizers(self) -> None:
        """Without a slash only the three known ones, and not orphan with foregroundDeletion (reference OBJ-11)."""
        self.assertEqual(
            self.one({"finalizers": ["mine"]}),
            Cause(
                "FieldValueInvalid",
                'Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
                "metadata.finalizers[0]",
            ),
        )
        self.assertEqual(create({**GOOD, "finalizers": ["mine"]}, free_finalizers=True), [])
        self.assertTrue(
            self.one({"finalizers": ["orphan", "foregroundDeletion"]}).message.endswith(
                "finalizer orphan and foregroundDeletion cannot be both set"
            )
        )

    def test_other_vocabulary(self) -> None:
        """The namespace finalizer is the one of the served vocabulary."""
        naming = Naming.kubernetes()
        meta = {**GOOD, "finalizers": [naming.namespace_finalizer]}
        self.assertEqual(validate_create(meta, msgspec.structs.replace(RULES, naming=naming)), [])

    def test_all_at_once(self) -> None:
        """Every cause is reported together."""
        self.assertEqual(len(create({"labels": {"a b": "x"}, "finalizers": ["mine"]})), 4)


class UpdateTests(SynchronousTestCase):
    """Causes of `validate_update` on metadata."""

    def test_good(self) -> None:
        """Labels, annotations, owners and finalizers may change."""
        self.assertEqual(update({**GOOD, "labels": {"a": "b"}, "finalizers": []}, GOOD), [])

    def test_immutable(self) -> None:
        """Identity and times of an object stay (reference OBJ-2, OBJ-4)."""
        for key in ("name", "namespace", "uid"):
            self.assertEqual(
                update({**GOOD, key: "other"}, GOOD),
                [Cause("FieldValueInvalid", 'Invalid value: "other": field is immutable', f"metadata.{key}")],
            )
        for key in ("creationTimestamp", "deletionTimestamp"):
            self.assertEqual(
                [str(cause) for cause in update({**GOOD, key: "2024-01-02T03:04:05Z"}, GOOD)],
                [f"metadata.{key}: Invalid value: 2024-01-02 03:04:05 +0000 UTC: field is immutable"],
            )
        (cause,) = update({**GOOD, "deletionGracePeriodSeconds": 30}, GOOD)
        self.assertEqual(str(cause), "metadata.deletionGracePeriodSeconds: Invalid value: 30: field is immutable")

    def test_no_new_finalizers(self) -> None:
        """While terminating, finalizers may only go (reference OBJ-11)."""
        old = {**GOOD, "deletionTimestamp": "2024-01-01T00:00:00Z", "finalizers": ["a/b", "c/d"]}
        self.assertEqual(update({**old, "finalizers": ["c/d"]}, old), [])
        text = 'no new finalizers can be added if the object is being deleted, found new finalizers []string{"x/y"}'
        self.assertEqual(
            update({**old, "finalizers": ["c/d", "x/y"]}, old),
            [Cause("FieldValueForbidden", f"Forbidden: {text}", "metadata.finalizers")],
        )

    def test_generation(self) -> None:
        """The generation never falls."""
        causes = update({**GOOD, "generation": 1}, {**GOOD, "generation": 2})
        self.assertEqual([cause.message for cause in causes], ["Invalid value: 1: must not be decremented"])

    def test_old_names_live_on(self) -> None:
        """A stored name of another form than today's does not keep an object from being updated."""
        old = {**GOOD, "name": "A_B"}
        self.assertEqual(update(old, old), [])

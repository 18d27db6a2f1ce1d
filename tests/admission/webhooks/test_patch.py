"""Patches of mutating webhooks (reference HOOK-17, HOOK-24)."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.webhooks.patch import Patched, operations_of, patched
from orchtw.errors import InternalError
from orchtw.wire.objects import Object
from tests.admission.asked import canonical

OBJ = canonical("v1", "ConfigMap", {"metadata": {"name": "x", "labels": {"a": "b"}}, "data": {"k": "v"}})


def read(obj: Object) -> Object:
    return canonical("v1", "ConfigMap", obj)


def apply(*operations: Any) -> Patched:
    return patched(OBJ, orjson.dumps(OBJ), operations_of(orjson.dumps(operations)), read)


class PatchTests(SynchronousTestCase):
    def test_change(self) -> None:
        """The object after the patch is canonical, and told apart from the one before."""
        found = apply({"value": "w", "op": "add", "path": "/data/k"}, {"op": "add", "path": "/other", "value": 1})
        self.assertEqual((found.changed, found.obj["data"]), (True, {"k": "w"}))
        self.assertNotIn("other", found.obj)
        self.assertEqual(OBJ["data"], {"k": "v"})
        self.assertEqual(
            found.text,
            b'[{"op":"add","path":"/data/k","value":"w"},{"op":"add","path":"/other","value":1}]',
        )

    def test_nothing(self) -> None:
        """A patch may come to nothing, as one of the version that webhooks are shown does (reference HOOK-32)."""
        for operation in (
            {"op": "replace", "path": "/data/k", "value": "v"},
            {"op": "add", "path": "/metadata/resourceVersion", "value": "9"},
            {"op": "test", "path": "/data/k", "value": "v"},
        ):
            found = apply(operation)
            self.assertEqual((found.changed, found.obj), (False, OBJ))

    def test_refusals(self) -> None:
        """A patch that does not apply, or leaves another kind, is a 500 that says why."""
        kind = 'ConfigMap in version "v1" cannot be handled as a ConfigMap'
        for operations, why in (
            (
                [{"op": "remove", "path": "/nope"}],
                "error in remove for path: '/nope': Unable to remove nonexistent key: nope: missing value",
            ),
            ([{"op": "replace", "path": "", "value": []}], "the patched document is not an object"),
            ([{"op": "add", "path": "/data/k", "value": 1}], f"{kind}: data[k]: expected a string, got number 1"),
            ([{"op": "test", "path": "/data/k", "value": "w"}], "testing path /data/k failed: test failed"),
        ):
            error = self.assertRaises(InternalError, apply, *operations)
            self.assertEqual(error.message, f"Internal error occurred: {why}")
            self.assertEqual(error.details, {"causes": [{"message": why}]})

    def test_owners(self) -> None:
        """Owners that cannot be read are put back, and the client is told (reference HOOK-34)."""
        fields = {"fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}}
        entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", **fields}
        for value, kept, why in (
            ([entry], [entry], ""),
            ([{**entry, "operation": "Guess"}], None, "operation: must be Apply or Update, not 'Guess'"),
            ([{**entry, "fieldsV1": {"a": {}}}], None, "fieldsV1: "),
            ([], None, ""),
        ):
            found = apply({"op": "add", "path": "/metadata/managedFields", "value": value})
            self.assertEqual(found.obj["metadata"].get("managedFields") or None, kept)
            self.assertEqual(bool(found.warning), bool(why))
            self.assertIn(why, found.warning)

    def test_too_deep(self) -> None:
        """A patch that is nested more deeply than JSON is written is refused."""
        deep = b'[{"op":"add","path":"/data","value":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}]"
        error = self.assertRaises(InternalError, patched, OBJ, orjson.dumps(OBJ), operations_of(deep), read)
        self.assertIn("nested too deeply", error.message)

    def test_no_patch(self) -> None:
        """Anything but a list of operations is refused."""
        for text in (b"{", b"{}", b"[1]", b'"x"'):
            error = self.assertRaises(InternalError, operations_of, text)
            self.assertTrue(error.message.startswith("Internal error occurred: error decoding patch: "))

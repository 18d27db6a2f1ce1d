"""The reference's server-side apply cases as data: operations in, object and owners out."""
# covers: orchtw.apply.merge_type

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply.field_set import FieldSet
from orchtw.apply.managed_fields import Entry, FieldOwner, decode, encode
from orchtw.apply.merge_type import MapType
from orchtw.apply.server_side_apply import ApplyConflicts, Merger
from orchtw.apply.type_check import fits, problems
from orchtw.wire.objects import Object
from tests.apply.merging import type_of_schema

CASES = Path(__file__).parent.parent / "fixtures" / "apply" / "cases.json"
NOW = "2022-05-03T00:00:00Z"



def cleaned(value: Any) -> Any:
    """The value with null, empty and absent containers alike."""
    if isinstance(value, dict):
        parts = {key: cleaned(part) for key, part in value.items()}
        return {key: part for key, part in parts.items() if part is not None} or None
    return [cleaned(item) for item in value] or None if isinstance(value, list) else value


class Served:
    """The versions of a case, all of one shape."""

    def __init__(self, case: Object) -> None:
        self.versions = set(case.get("versions", ["v1"]))
        self.kind = type_of_schema(case["schema"])

    def type_of(self, api_version: str) -> MapType | None:
        return self.kind if api_version in self.versions else None

    def convert(self, obj: Object, source: str, wanted: str) -> Object:
        return obj


class State:
    """The object of a case and its entries."""

    def __init__(self, case: Object) -> None:
        self.served = Served(case)
        reset = {version: FieldSet.named(*paths) for version, paths in case.get("resetFields", {}).items()}
        self.merger = Merger(self.served, reset)
        self.live: Object = {}
        self.entries: list[Entry] = []

    def run(self, step: Object) -> Any:
        """Run the step and return its outcome in the words of `expect`."""
        operation = step["op"]
        if operation == "setSchema":
            self.served.kind = type_of_schema(step["schema"])
            return "ok"
        if operation == "dropVersion":
            self.served.versions.remove(step["version"])
            return "ok"
        return self._write(operation, step["object"], step["manager"], step.get("version", "v1"))

    def _write(self, operation: str, obj: Object, manager: str, version: str) -> Any:
        managed = decode(self.entries, self.served.type_of)
        if not fits(self.served.kind, obj):
            return {"error": problems(self.served.kind, obj)}
        if operation == "update":
            owner = FieldOwner.updater(manager, version)
            managed = self.merger.update(self.live, obj, version, managed, owner, NOW)
            self.live = obj
        else:
            force = operation == "forceApply"
            owner = FieldOwner.applier(manager)
            try:
                self.live, managed = self.merger.apply(self.live, obj, version, managed, owner, force=force)
            except ApplyConflicts as error:
                return {"conflict": [told for conflict in error.conflicts for told in self._told(conflict)]}
        self.entries = encode(managed)
        return "ok"

    @staticmethod
    def _told(conflict: Any) -> list[Object]:
        owner = conflict.owner
        return [
            {"manager": owner.manager, "operation": owner.operation, "field": text}
            for text in conflict.fields.texts()
        ]


class CaseTests(SynchronousTestCase):
    def test_all(self) -> None:
        """Every case ends with the object and the owners that the reference's merge library has."""
        cases = orjson.loads(CASES.read_bytes())
        self.assertEqual(len(cases), 33)
        for case in cases:
            with self.subTest(case["name"]):
                self._check(case)

    def _check(self, case: Object) -> None:
        state = State(case)
        for step in case["steps"]:
            outcome, expected = state.run(step), step.get("expect", "ok")
            if isinstance(expected, dict) and "error" in expected:
                self.assertTrue(outcome["error"], case["name"])
            else:
                self.assertEqual(outcome, expected, case["name"])
            if "liveAfter" in step:
                self.assertEqual(cleaned(state.live), cleaned(step["liveAfter"]), case["name"])
        self.assertEqual(cleaned(state.live), cleaned(case["expectedObject"]), case["name"])
        owners = {(entry["manager"], entry["operation"]): entry for entry in state.entries}
        self.assertEqual(len(owners), len(case["expectedManagers"]), case["name"])
        for wanted in case["expectedManagers"]:
            entry = owners[wanted["manager"], wanted["operation"]]
            self.assertEqual({key: entry[key] for key in wanted}, wanted, case["name"])

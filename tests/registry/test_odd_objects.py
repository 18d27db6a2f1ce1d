"""Whatever canonical object is stored, every reader copes with it: there may be no validation of its kind."""

from __future__ import annotations

from random import Random
from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import StatusError
from orchtw.naming.naming import Naming
from orchtw.registry.field_ownership import FieldOwnership
from orchtw.registry.metadata import ordered
from orchtw.registry.scaling import WORKLOAD
from orchtw.registry.target import Target
from orchtw.registry.targets import Targets
from orchtw.request import UserInfo
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.tables.convertor import TableLayout
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from tests.fuzz.values import Values
from tests.registry.test_stored import kind_codec

NAMING = Naming.orch()
CATALOGUE = Catalogue.load(NAMING)
CODECS = Codecs(CATALOGUE)
TARGETS = Targets(CATALOGUE, CODECS, CATALOGUE.resources)
OWNERSHIP = FieldOwnership(TARGETS, NAMING)
ROUNDS = 6
NOW = "2026-01-02T03:04:05Z"


def arbitrary(target: Target, values: Values) -> Object | None:
    """A canonical object with a name; None where the values do not fit."""
    fields: dict[str, Any] = {**values.struct(target.codec.schema), **values.struct(target.codec.schema)}
    meta = fields.get("metadata") or {}
    fields |= {"kind": target.resource.kind, "apiVersion": target.resource.api_version}
    fields["metadata"] = {**meta, "annotations": values.annotations(), "name": "x"}
    try:
        obj = target.codec.normalise(fields)
    except StatusError:
        return None
    target.codec.set_defaults(obj)
    target.complete(obj)
    obj["metadata"] = ordered(obj["metadata"])
    return obj


class OddObjectsTests(SynchronousTestCase):
    """Arbitrary objects of every kind; a failure names the seed."""

    def test_readers(self) -> None:
        """Stores, conversions, both encodings, Tables, Scales and field managers take every object there can be."""
        for seed in range(ROUNDS):
            values = Values(Random(seed), NAMING.translate)
            for target in TARGETS.served():
                obj = arbitrary(target, values)
                if obj is not None:
                    self.read(target, self.stored(target, obj))

    def stored(self, target: Target, obj: Object) -> Entry:
        """The cached form of an object, which is the same when it is read from the store."""
        stored, kept = target.stored, target.store_form(obj)
        strategy = stored.strategy
        strategy.validate_create(kept)
        strategy.validate_update(kept, kept)
        strategy.prepare_for_create(orjson.loads(orjson.dumps(kept)), UserInfo(name="ann"))
        prepared = stored.prepare(kept)
        entry = prepared.entry(7)
        again = stored.build(entry.key, prepared.value, 7)
        self.assertEqual((again.raw, again.fields, again.labels), (entry.raw, entry.fields, entry.labels))
        self.assertEqual(stored.json_tail(again), entry.json)
        return entry

    def read(self, target: Target, entry: Entry) -> None:
        """All readers in all versions."""
        for served in TARGETS.versions_of(target).values():
            obj = served.load(entry)
            self.assertEqual(orjson.dumps(served.codec.normalise(obj)), orjson.dumps(obj))
            self.assertEqual(kind_codec(served.codec).decode_protobuf(served.protobuf(entry)), obj)
            resource = served.resource
            layout = TableLayout(resource.columns, target.stored.strategy.traits.cells, NAMING)
            layout.row(target.stored.load(entry), 1e9, served=obj)
            layout.lasting_cells(target.stored.load(entry), 1e9)
            self.own(served, obj)
            if any(sub.name == "scale" for sub in resource.subresources):
                self.scale(obj)

    @staticmethod
    def own(target: Target, obj: Object) -> None:
        """Updates and applies through this version."""
        fields = OWNERSHIP.of(target, "")
        fields.on_update(None, obj, "m", NOW)
        meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
        types = {key: obj[key] for key in ("kind", "apiVersion")}
        for applied in ({**obj, "metadata": meta}, {**types, "metadata": {"name": "x"}}):
            try:
                fields.on_apply(obj, applied, "n", NOW, force=True)
            except StatusError:
                pass  # a list whose items have equal keys cannot be applied

    @staticmethod
    def scale(obj: Object) -> None:
        try:
            WORKLOAD.show(obj)
        except StatusError:
            pass  # its selector means nothing

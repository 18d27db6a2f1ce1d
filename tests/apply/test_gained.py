"""Fields of new objects in the order of FieldsV1: `orchtw.apply.typed.gained`."""

from __future__ import annotations

from random import Random
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as some
from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply import field_tree
from orchtw.apply.field_set import FieldSet
from orchtw.apply.merge_type import MapType, Types
from orchtw.apply.typed import compare, gained
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from tests.apply.merging import QUICK
from tests.apply.test_known_parts import KIND
from tests.schema.arbitrary import Arbitrary

CATALOGUE = Catalogue.load(Naming.orch())
CODECS = Codecs(CATALOGUE)
_JSON = some.recursive(
    some.none() | some.booleans() | some.sampled_from([0, 1, 1.0, "", "a"]),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.sampled_from("ab"), inner),
    max_leaves=8,
)
_OBJECTS = some.dictionaries(some.sampled_from(["spec", "data", "metadata", "odd"]), _JSON)


class GainedTests(SynchronousTestCase):
    """The short way gives what the whole comparison gives (reference APPLY-18)."""

    def check(self, kind: MapType, old: Any, new: Any) -> None:
        changes = compare(kind, old, new)
        expected = FieldSet(field_tree.union(changes.modified, changes.added))
        self.assertEqual(orjson.dumps(gained(kind, old, new)), expected.encode())

    def test_every_kind(self) -> None:
        """Random objects of all built-in kinds, against an empty object and against another one."""
        types, random = Types(), Random(26)
        for key in sorted(CATALOGUE._messages):
            codec = CODECS.kind(*key)
            if not codec.protobuf:
                continue
            root = types.root(codec.schema)
            old, new = (codec.normalise(Arbitrary(random).struct(codec.schema)) for _ in range(2))
            self.check(root, codec.normalise({}), new)
            self.check(root, old, new)

    @QUICK
    @given(_OBJECTS, _OBJECTS)
    def test_misfits(self, old: Any, new: Any) -> None:
        """Values that do not fit their types, as custom objects may hold after a change of the schema."""
        self.check(KIND, old, new)

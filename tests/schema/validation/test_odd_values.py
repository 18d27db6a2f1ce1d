"""Every rule that fits, on every field of every kind: validators cope with whatever is canonical."""

from __future__ import annotations

from random import Random
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import MAX_CAUSES, StatusError
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.nodes import Field, ListSchema, MapSchema, Node, NodeForm, OneOf, Scalar, StructRules, StructSchema
from orchtw.schema.validation.validators import Validators
from tests.schema.arbitrary import Arbitrary

NAMING = Naming.orch()
CATALOGUE = Catalogue.load(NAMING)
NUMBERS = (Scalar.INT32, Scalar.INT64, Scalar.DOUBLE, NodeForm.INT_OR_STRING)
ROUNDS = 3


class Ruled:
    """Schemas like given ones, with all rules that fit."""

    def __init__(self) -> None:
        self._structs: dict[StructSchema, StructSchema] = {}

    def node(self, node: Node) -> Node:
        if isinstance(node, ListSchema):
            return ListSchema(self.node(node.element), node.list_type, node.map_keys)
        if isinstance(node, MapSchema):
            return MapSchema(self.node(node.value), node.map_type)
        return self.struct(node) if isinstance(node, StructSchema) else node

    def struct(self, schema: StructSchema) -> StructSchema:
        known = self._structs.get(schema)
        if known is None:
            one_of = OneOf(tuple(schema.keys), "only one", "one")
            known = StructSchema(schema.name, lambda: [self.field(each) for each in schema.fields], one_of=(one_of,))
            self._structs[schema] = known
        return known

    def field(self, field: Field) -> Field:
        return attrs.evolve(field, node=self.node(field.node), rules=self.rules(field.node, immutable=True))

    def rules(self, node: Node, *, immutable: bool = False) -> StructRules:
        every: dict[str, Any] = {"required": True, "immutable": immutable}
        if isinstance(node, ListSchema):
            return StructRules(**every, min_items=3, max_items=1, unique=True, item=self.rules(node.element))
        if isinstance(node, MapSchema):
            key = StructRules(format="qualified_name", max_length=1)
            return StructRules(**every, min_items=3, max_items=1, key=key, item=self.rules(node.value))
        if node in NUMBERS:
            return StructRules(**every, minimum=2, maximum=1)
        if node is Scalar.STRING:
            return StructRules(**every, allowed=("",), max_length=1, format="dns_label")
        return StructRules(**every)


class OddValuesTests(SynchronousTestCase):
    def test_every_kind(self) -> None:
        """Causes come out, all of them shown in the same order again, and no value is too odd; nothing is changed."""
        codecs, ruled, validators = Codecs(CATALOGUE), Ruled(), Validators()
        tried = 0
        for seed in range(ROUNDS):
            values = Arbitrary(Random(seed))
            for resource in CATALOGUE.resources:
                codec = codecs.kind(resource.api_version, resource.kind)
                validate = validators.find(ruled.struct(codec.schema))
                assert validate is not None
                try:
                    old, new = (codec.normalise(values.struct(codec.schema)) for _ in range(2))
                except StatusError:
                    continue
                tried += 1
                before = repr((new, old))
                for other in (None, old):
                    causes = validate(new, other)
                    self.assertTrue(causes, resource.kind)
                    self.assertEqual(validate(new, other)[:MAX_CAUSES], causes[:MAX_CAUSES])
                self.assertEqual(repr((new, old)), before, (seed, resource.kind))
        self.assertGreater(tried, ROUNDS * len(CATALOGUE.resources) / 2)

"""Functions that translate values, compiled from schema nodes and the table of positions.

Each returns its argument itself if nothing in it changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from orchtw.renaming.identifiers import Names
from orchtw.renaming.positions import ANYWHERE, IN, IN_NAMESPACES, OBJECTS, QUANTITIES, REFERENCES
from orchtw.schema.kinds import GroupKind
from orchtw.schema.nodes import EitherSchema, ListSchema, MapSchema, Node, NodeForm, Scalar, StructSchema
from orchtw.schema.values import in_order
from orchtw.wire.objects import Object

Translate = Callable[[Any], Any]
Rename = Callable[[str], str]


class ValueFunctions:
    """Translation functions for a pair of vocabularies, compiled on first use."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._structs: dict[StructSchema, Translate | None] = {}
        self._corrections: dict[str, Callable[[Object, Object], Object]] = {
            **dict.fromkeys(REFERENCES, self._reference),
            "ServiceReference": self._service_reference,
            "LabelSelectorRequirement": self._requirement,
        }

    def rule(self, struct: StructSchema, key: str) -> Rename | None:
        """Return the rule for the names in a field, or None if it has no names."""
        method = IN.get((_short(struct), key)) or ANYWHERE.get(key)
        node = struct.keys[key].node
        if method is None and isinstance(node, MapSchema) and node.value is NodeForm.QUANTITY:
            method = QUANTITIES
        return None if method is None else getattr(self.names, method)

    def struct(self, schema: StructSchema) -> Translate | None:
        """Return the function for objects of a struct, or None if they contain no names."""
        if schema not in self._structs:
            self._structs[schema] = None  # for recursion: a struct within itself is not translated
            self._structs[schema] = self._compiled(schema)
        return self._structs[schema]

    def name(self, kind: GroupKind, namespace: str, name: str) -> str:
        """Translate the name of an object of a kind in the old `namespace`."""
        if method := OBJECTS.get(kind):
            return str(getattr(self.names, method)(name))
        if method := IN_NAMESPACES.get(kind):
            return str(getattr(self.names, method)(namespace, name))
        return name

    def kind(self, group: str, kind: str) -> GroupKind:
        """Return the kind for a group in the old vocabulary."""
        return GroupKind.of(group, kind, self.names.old)

    def _compiled(self, schema: StructSchema) -> Translate | None:
        parts = [
            (key, translate)
            for key, field in schema.keys.items()
            if (translate := self._field(field.node, self.rule(schema, key), key)) is not None
        ]
        correct = self._corrections.get(_short(schema))
        if not parts and correct is None:
            return None

        def run(obj: Object) -> Object:
            out = obj
            for key, translate in parts:
                value = obj.get(key)
                if value and (new := translate(value)) is not value:
                    out = {**obj, key: new} if out is obj else out
                    out[key] = new
            return out if correct is None else correct(obj, out)

        return run

    def _field(self, node: Node, rule: Rename | None, key: str) -> Translate | None:
        if isinstance(node, StructSchema):
            return self.struct(node)
        if isinstance(node, EitherSchema):
            inner = self.struct(node.schema)
            return None if inner is None else partial(_if_object, inner)
        if isinstance(node, ListSchema):
            inner = self._field(node.element, rule, key)
            return None if inner is None else partial(_each, inner)
        if isinstance(node, MapSchema):
            return self._map(node, rule, key)
        return _kept(rule) if rule is not None and node is Scalar.STRING else None

    def _map(self, node: MapSchema, rule: Rename | None, key: str) -> Translate | None:
        if rule is not None:
            value_of = self.names.label_value if key in ("labels", "matchLabels") else None
            return lambda value: renamed_keys(value, rule, value_of)
        inner = self._field(node.value, None, "")
        return None if inner is None else partial(_each_value, inner)

    def _reference(self, old: Object, new: Object) -> Object:
        """Translate the name in a reference; one without a group refers to the core group."""
        api_version, name = old.get("apiVersion", ""), old.get("name", "")
        group = old.get("apiGroup") or api_version.rpartition("/")[0]
        renamed = self.name(self.kind(group, old.get("kind", "")), old.get("namespace", ""), name)
        return new if renamed == name else {**new, "name": renamed}

    def _service_reference(self, old: Object, new: Object) -> Object:
        name = old.get("name", "")
        renamed = self.names.service(old.get("namespace", ""), name)
        return new if renamed == name else {**new, "name": renamed}

    def _requirement(self, old: Object, new: Object) -> Object:
        values = old.get("values") or []
        renamed = [self.names.label_value(old.get("key", ""), value) for value in values]
        return new if renamed == values else {**new, "values": renamed}


def renamed_keys(value: Object, rule: Rename, value_of: Callable[[str, str], str] | None = None) -> Object:
    """Translate and sort the keys of a map; a key whose new name is taken keeps the old one.

    `value_of` translates each value by its old key.
    """
    new_of = {key: rule(key) for key in value}
    out: Object = {}
    for key, each in value.items():
        new = new_of[key]
        taken = new != key and (new in value or new in out)
        out[key if taken else new] = each if value_of is None else value_of(key, each)
    return _changed(value, {key: out[key] for key in in_order(out)})


def _if_object(inner: Translate, value: Any) -> Any:
    return inner(value) if type(value) is dict else value


def _each(inner: Translate, value: list[Any]) -> list[Any]:
    out = [inner(each) for each in value]
    return value if all(a is b for a, b in zip(value, out, strict=True)) else out


def _each_value(inner: Translate, value: Object) -> Object:
    return _changed(value, {key: inner(each) for key, each in value.items()})


def _changed(old: Object, new: Object) -> Object:
    return old if new == old else new


def _kept(rule: Rename) -> Translate:
    """Wrap `rule` to return the same string object if nothing changes."""

    def run(value: str) -> str:
        new = rule(value)
        return value if new == value else new

    return run


def _short(schema: StructSchema) -> str:
    return schema.name.rpartition(".")[2]

"""Definitions: the JSON schema of each type, made from its node and kept."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any, Final

import msgspec

from orchtw.schema.catalogue import ResourceType, joined
from orchtw.schema.custom.structural import CustomSchema
from orchtw.schema.nodes import (
    MISSING,
    Alternative,
    EitherSchema,
    Field,
    ListSchema,
    MapSchema,
    Node,
    NodeForm,
    Scalar,
    StructSchema,
)
from orchtw.schema.openapi import words
from orchtw.schema.openapi.definition_names import (
    definition_name,
    group_version_kind,
    is_message,
    selectable_fields,
    short_name,
    title,
)
from orchtw.schema.openapi.descriptions import Descriptions
from orchtw.schema.openapi.features import Features
from orchtw.schema.openapi.structural import StructuralRenderer
from orchtw.schema.schemas import OBJECT_META, Schemas, list_name

Schema = dict[str, Any]

META = "orch.io.apimachinery.pkg.apis.meta.v1"
VERSION_INFO: Final = "orch.io.apimachinery.pkg.version.Info"
WATCH_EVENT: Final = f"{META}.WatchEvent"
PATCH: Final = f"{META}.Patch"

# The fields of `/version`, which has no message (reference DISC-6).
_VERSION_FIELDS = (
    "major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform",
)  # fmt: skip
_SCALARS: dict[Scalar, Schema] = {
    Scalar.STRING: {"type": "string"},
    Scalar.BOOL: {"type": "boolean"},
    Scalar.INT32: {"type": "integer", "format": "int32"},
    Scalar.INT64: {"type": "integer", "format": "int64"},
    Scalar.DOUBLE: {"type": "number", "format": "double"},
    Scalar.BYTES: {"type": "string", "format": "byte"},
}
_FORM_MESSAGES = {
    NodeForm.TIME: f"{META}.Time",
    NodeForm.MICRO_TIME: f"{META}.MicroTime",
    NodeForm.DURATION: f"{META}.Duration",
    NodeForm.OBJECT: f"{META}.FieldsV1",
    NodeForm.QUANTITY: "orch.io.apimachinery.pkg.api.resource.Quantity",
    NodeForm.INT_OR_STRING: "orch.io.apimachinery.pkg.util.intstr.IntOrString",
}
_RAW = "orch.io.apimachinery.pkg.runtime.RawExtension"
# Inside schemas a free value may be anything; elsewhere it is an object.
_JSON_OWNERS = "apiextensions"
_FORMS: dict[str, Schema] = {
    "Time": {"type": "string", "format": "date-time"},
    "MicroTime": {"type": "string", "format": "date-time"},
    "Duration": {"type": "string"},
    "Patch": {},
    "FieldsV1": {"type": "object"},
    "RawExtension": {"type": "object"},
    "JSON": {},
    "Quantity": {"type": "string"},
    "IntOrString": {"type": "string", "format": "int-or-string"},
}
_EITHER = {Alternative.SCHEMAS: "OrArray", Alternative.BOOL: "OrBool", Alternative.STRINGS: "OrStringArray"}


class Dialect(msgspec.Struct, frozen=True):
    """Differences between v2 and v3.

    `references` is the place of definitions; `siblings`: members beside a $ref have no effect, so it is wrapped in
    allOf; `choices`: a value may be declared as one of several types.
    """

    references: str
    siblings: bool
    choices: bool


V2 = Dialect("#/definitions/", siblings=False, choices=False)
V3 = Dialect("#/components/schemas/", siblings=True, choices=True)


class Definitions:
    """The definitions in one dialect, under the names of one vocabulary.

    `enabled` are the served resources: they decide which kinds a definition stands for.
    """

    def __init__(
        self, dialect: Dialect, schemas: Schemas, enabled: Iterable[ResourceType], features: Features
    ) -> None:
        self._dialect = dialect
        self._enums = features.enums
        self._schemas = schemas
        self._naming = schemas.naming
        self._texts = Descriptions(self._naming)
        self._resources: dict[str, ResourceType] = {}
        self._added: dict[str, ResourceType] = {}
        self._know(enabled)
        # Added kinds do not show in definitions of the release: its documents stay the same when they come and go.
        self._versions = sorted({(each.group, each.version) for each in self._resources.values() if each.protobuf})
        self._nodes: dict[str, Node] = {}
        self._messages: dict[str, str] = {}
        self._made: dict[str, Schema] = {}
        self._uses: dict[str, frozenset[str]] = {}
        self._found: set[str] = set()

    def with_added(self, schemas: Schemas, added: Iterable[ResourceType]) -> Definitions:
        """Return a copy that also has the kinds of `added`, which `schemas` knows; this one is unchanged."""
        found = copy(self)
        found._schemas = schemas
        found._resources, found._added = dict(self._resources), dict(self._added)
        found._know(added)
        found._nodes, found._messages = dict(self._nodes), dict(self._messages)
        found._made, found._uses = dict(self._made), dict(self._uses)
        return found

    @property
    def added(self) -> frozenset[str]:
        """The names of the definitions of added kinds and of their lists."""
        return frozenset(definition_name(message, self._naming) for message in self._added)

    def _know(self, resources: Iterable[ResourceType]) -> None:
        for each in resources:
            self._resources[each.message] = each
            if not each.protobuf:
                self._added |= {each.message: each, list_name(each.message): each}

    def reference(self, message: str) -> Schema:
        """Return a reference to the definition of a message. Raises KeyError when there is no such message."""
        if message == PATCH:
            return self._to(message, NodeForm.ANY)
        return self._to(message, _version_info() if message == VERSION_INFO else self._schemas.node(message))

    def named(self, names: Iterable[str]) -> dict[str, Schema]:
        """Return definitions that `closure` has made, by name. Raises KeyError for another one."""
        return {name: self._made[name] for name in names}

    def closure(self, messages: Iterable[str]) -> dict[str, Schema]:
        """Return the definitions of these messages and of all that they refer to, by name in order."""
        waiting = {self.reference(message)["$ref"].removeprefix(self._dialect.references) for message in messages}
        found: set[str] = set()
        while waiting:
            name = waiting.pop()
            found.add(name)
            waiting |= self._used_by(name) - found
        return {name: self._made[name] for name in sorted(found)}

    def _used_by(self, name: str) -> frozenset[str]:
        """Return the definitions that this one refers to; make it when it is new."""
        uses = self._uses.get(name)
        if uses is None:
            self._found = set()
            self._made[name] = self._definition(self._messages[name], self._nodes[name])
            uses = self._uses[name] = frozenset(self._found)
        return uses

    def _to(self, message: str, node: Node) -> Schema:
        name = definition_name(message, self._naming)
        self._nodes[name] = node
        self._messages[name] = message
        self._found.add(name)
        return {"$ref": f"{self._dialect.references}{name}"}

    def _definition(self, message: str, node: Node) -> Schema:
        if isinstance(node, CustomSchema):
            return self._custom(node)
        if isinstance(node, StructSchema):
            return self._struct(node)
        if isinstance(node, EitherSchema):
            return {"description": self._texts.of_message(message)}
        schema = _FORMS[short_name(message)] | {"description": self._texts.of_message(message)}
        if self._dialect.choices and node in (NodeForm.QUANTITY, NodeForm.INT_OR_STRING):
            del schema["type"]
            number = "integer" if node is NodeForm.INT_OR_STRING else "number"
            schema["oneOf"] = [{"type": "string"}, {"type": number}]
        return schema

    def _struct(self, node: StructSchema) -> Schema:
        said = self._said_of(node)
        schema: Schema = {"description": said, "type": "object"} if said else {"type": "object"}
        if required := [field.name for field in node.keys.values() if field.required]:
            schema["required"] = required
        properties: Schema = {}
        if node.kind:
            properties["apiVersion"] = {"description": words.API_VERSION, "type": "string"}
            properties["kind"] = {"description": words.KIND, "type": "string"}
        properties |= self._properties(node)
        if properties:
            schema["properties"] = properties
        return schema | self._struct_extensions(node)

    def _custom(self, node: CustomSchema) -> Schema:
        """Return the definition of a structural schema, with the standard text for fields that every object has."""
        shown = StructuralRenderer(self._naming.extension_prefix, self._of_every_object, whole=self._dialect.siblings)
        structure, kinds = node.structure(), self._struct_extensions_of_kind(node.name)
        resource = self._added.get(node.name)
        if resource is not None:
            kinds |= selectable_fields(resource.field_selectors, self._naming.extension_prefix)
        if shown.is_free(structure):
            return {"type": "object"} | kinds
        return {"description": self._said_of(node)} | shown.root(structure) | kinds

    def _of_every_object(self) -> Schema:
        """Return the properties that every object has."""
        metadata = self._to(OBJECT_META, self._schemas.node(OBJECT_META))
        said = {"description": words.METADATA}
        return {
            "apiVersion": {"description": words.API_VERSION, "type": "string"},
            "kind": {"description": words.KIND, "type": "string"},
            "metadata": said | ({"allOf": [metadata]} if self._dialect.siblings else metadata),
        }

    def _said_of(self, node: StructSchema) -> str:
        text, resource = node.description or self._texts.of_message(node.name), self._resources.get(node.name)
        if resource is not None:
            return words.of_resource(resource, text)
        return words.of_struct(node, text) if text or node.name else ""

    def _properties(self, node: StructSchema) -> Schema:
        """Return the properties of a struct by key, those of inline structs in their place."""
        found: Schema = {}
        for field in node.fields:
            if field.inline and isinstance(field.node, StructSchema):
                found |= self._properties(field.node)
            else:
                found[field.name] = self._property(field, node)
        return found

    def _struct_extensions(self, node: StructSchema) -> Schema:
        prefix = self._naming.extension_prefix
        found = self._struct_extensions_of_kind(node.name)
        if node.atomic:
            found[f"{prefix}map-type"] = "atomic"
        if node.unknown is not None:
            found[f"{prefix}preserve-unknown-fields"] = True
        discriminator = next((field.name for field in node.fields if field.union_discriminator), "")
        if discriminator:
            members = {field.name: title(field.name) for field in node.fields if field.name != discriminator}
            found[f"{prefix}unions"] = [{"discriminator": discriminator, "fields-to-discriminateBy": members}]
        return found

    def _struct_extensions_of_kind(self, message: str) -> Schema:
        kinds = self._kinds_of(message)
        return {f"{self._naming.extension_prefix}group-version-kind": kinds} if kinds else {}

    def _kinds_of(self, message: str) -> list[dict[str, str]]:
        """Return the kinds that a message stands for in the served versions; those of requests are in all of them."""
        added = self._added.get(message)
        if added is not None:
            kind = added.kind if message == added.message else added.list_kind or f"{added.kind}List"
            return [group_version_kind(added.group, added.version, kind)]
        kind = short_name(message)
        return [
            group_version_kind(group, version, kind)
            for group, version in self._versions
            if self._schemas.message_of(joined(group, version), kind) == message
        ]

    def _property(self, field: Field, owner: StructSchema) -> Schema:
        schema = self._schema(field.node, owner)
        if self._enums and field.enum is not None and field.enum.published:
            _restrict(schema, field.enum.values)
        text = field.description or self._texts.of_field(owner.name, field.proto)
        siblings: Schema = {"description": words.of_field(field, text)}
        if (default := self._default(field)) is not MISSING:
            siblings["default"] = default
        siblings |= self._merge_extensions(field)
        if "$ref" not in schema:
            return siblings | schema
        if self._dialect.siblings:
            return siblings | {"allOf": [schema]}
        siblings.pop("default", None)  # v2 has no place for it beside a reference
        return siblings | schema

    def _default(self, field: Field) -> Any:
        """Return the declared default, or `{}` for a struct that is never absent, where that is valid."""
        if field.default is not MISSING:
            return field.default
        node = field.node
        if not self._dialect.siblings or field.pointer or not isinstance(node, StructSchema):
            return MISSING
        return MISSING if any(each.required for each in node.keys.values()) else {}

    def _merge_extensions(self, field: Field) -> Schema:
        prefix, node = self._naming.extension_prefix, field.node
        found: Schema = {}
        if isinstance(node, ListSchema):
            found["list-type"] = node.list_type
            found["list-map-keys"] = list(node.map_keys)
        elif isinstance(node, MapSchema):
            found["map-type"] = node.map_type
        found["patch-strategy"] = ",".join(field.patch_strategies)
        found["patch-merge-key"] = field.patch_merge_key
        return {f"{prefix}{key}": value for key, value in found.items() if value}

    def _schema(self, node: Node, owner: StructSchema) -> Schema:
        if isinstance(node, Scalar):
            return dict(_SCALARS[node])
        if isinstance(node, StructSchema):
            return self._to(node.name, node) if node.name else self._struct(node)
        if isinstance(node, ListSchema):
            return {"type": "array", "items": self._schema(node.element, owner)}
        if isinstance(node, MapSchema):
            return {"type": "object", "additionalProperties": self._schema(node.value, owner)}
        if isinstance(node, EitherSchema):
            return self._to(f"{node.schema.name}{_EITHER[node.alternative]}", node)
        if node is NodeForm.STRINGS:
            return {"type": "array", "items": {"type": "string"}}
        if node is NodeForm.ANY and not is_message(owner.name):
            return {}
        return self._to(_form_message(node, owner), node)


def _form_message(form: NodeForm, owner: StructSchema) -> str:
    if form is not NodeForm.ANY:
        return _FORM_MESSAGES[form]
    package, _, _ = owner.name.rpartition(".")
    return f"{package}.JSON" if _JSON_OWNERS in package.split(".") else _RAW


def _restrict(schema: Schema, values: Iterable[str]) -> None:
    """Limit a text, or the elements of a list of texts, to these values."""
    target: Any = schema
    while "items" in target:
        target = target["items"]
    if target.get("type") == "string":
        target["enum"] = sorted(values)


def _version_info() -> StructSchema:
    return StructSchema(
        VERSION_INFO, [Field(name=name, node=Scalar.STRING, required=True) for name in _VERSION_FIELDS]
    )

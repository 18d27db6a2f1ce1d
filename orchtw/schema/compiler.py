"""Compiler of descriptors to schema nodes, message by message on demand, with names in the chosen vocabulary."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from orchtw.naming.names import Naming
from orchtw.schema import descriptors
from orchtw.schema.additions import EVERY, Additions
from orchtw.schema.nodes import (
    MISSING,
    Alternative,
    EitherSchema,
    EnumSchema,
    Field,
    ListSchema,
    MapSchema,
    Node,
    NodeForm,
    Scalar,
    StructSchema,
)
from orchtw.schema.validation.declared import declared_one_of, declared_rules
from orchtw.wire.json_values import loads

_SCALARS = {
    FieldDescriptor.TYPE_STRING: Scalar.STRING,
    FieldDescriptor.TYPE_BOOL: Scalar.BOOL,
    FieldDescriptor.TYPE_INT32: Scalar.INT32,
    FieldDescriptor.TYPE_INT64: Scalar.INT64,
    FieldDescriptor.TYPE_DOUBLE: Scalar.DOUBLE,
    FieldDescriptor.TYPE_BYTES: Scalar.BYTES,
}
# Keyed by the last parts of the full name, which are unique.
_FORMS = {
    "meta.v1.Time": NodeForm.TIME,
    "meta.v1.MicroTime": NodeForm.MICRO_TIME,
    "meta.v1.Duration": NodeForm.DURATION,
    "meta.v1.FieldsV1": NodeForm.OBJECT,
    "api.resource.Quantity": NodeForm.QUANTITY,
    "api.resource.QuantityValue": NodeForm.QUANTITY,
    "util.intstr.IntOrString": NodeForm.INT_OR_STRING,
    "pkg.runtime.RawExtension": NodeForm.ANY,
    "apiextensions.v1.JSON": NodeForm.ANY,
    "apiextensions.v1beta1.JSON": NodeForm.ANY,
}
_EITHERS = {
    "JSONSchemaPropsOrArray": Alternative.SCHEMAS,
    "JSONSchemaPropsOrBool": Alternative.BOOL,
    "JSONSchemaPropsOrStringArray": Alternative.STRINGS,
}
_STRINGS_FORM = "[]string"


class SchemaCompiler:
    """Compiles the API's messages to nodes and keeps them; `naming` gives JSON keys, enum values and defaults.

    Fields and values that `additions` lacks are left out. Thread-safe.
    """

    def __init__(self, naming: Naming, additions: Additions = EVERY) -> None:
        self._naming = naming
        self._additions = additions
        self._nodes: dict[str, Node] = {}
        self._enums = cache(self._enums_of_package)

    def message(self, full_name: str) -> Node:
        """Return the node of a message. Raises KeyError when there is none of that name."""
        node = self._nodes.get(full_name)
        return node if node is not None else self._compile(descriptors.pool().FindMessageTypeByName(full_name))

    def struct(self, full_name: str) -> StructSchema:
        """Return the node of a message with fields in JSON. Raises KeyError if unknown or of a special form."""
        node = self.message(full_name)
        if not isinstance(node, StructSchema):
            raise KeyError(full_name)
        return node

    def _compile(self, descriptor: Descriptor | None) -> Node:
        assert descriptor is not None
        node = self._nodes.get(descriptor.full_name)
        if node is None:
            # Another thread may have made it meanwhile: the first one counts.
            node = self._nodes.setdefault(descriptor.full_name, self._new(descriptor))
        return node

    def _new(self, descriptor: Descriptor) -> Node:
        form = _FORMS.get(".".join(descriptor.full_name.rsplit(".", 3)[1:]))
        if form is not None:
            return form
        if descriptor.name in _EITHERS:
            schema = self._compile(descriptor.fields_by_name["schema"].message_type)
            assert isinstance(schema, StructSchema)
            return EitherSchema(schema, _EITHERS[descriptor.name])
        options = descriptors.message_options(descriptor)
        if options.go_form == _STRINGS_FORM:
            return NodeForm.STRINGS
        return StructSchema(
            descriptor.full_name,
            lambda: self._fields(descriptor),
            kind=options.kind,
            atomic=options.struct_type == "atomic",
            union=options.union,
            recursive=_contains_itself(descriptor),
            one_of=tuple(declared_one_of(each, self._naming) for each in options.one_of),
        )

    def _fields(self, descriptor: Descriptor) -> list[Field]:
        each = ((field, descriptors.field_options(field)) for field in descriptor.fields)
        has = self._additions.includes
        return [self._field(field, options) for field, options in each if has(options.since, options.feature_gate)]

    def _field(self, field: FieldDescriptor, options: Any) -> Field:
        enum = self._enum(field, options.enum) if options.enum else None
        return Field(
            name="" if options.inline else self._naming.translate(options.json or field.name),
            node=self._node(field, options),
            proto=field.name,
            number=field.number,
            inline=options.inline,
            pointer=options.pointer,
            omitempty=options.omitempty,
            required=options.required,
            optional=options.optional,
            default=self._translated(loads(options.default)) if options.HasField("default") else MISSING,
            enum=enum,
            patch_strategies=tuple(options.patch_strategy.split(",")) if options.patch_strategy else (),
            patch_merge_key=options.patch_merge_key,
            feature_gate=options.feature_gate,
            later=bool(options.since),
            dormant=self._additions.drops(options.since, options.feature_gate),
            union_discriminator=options.union_discriminator,
            element_pointer=options.element_pointer,
            markers=tuple(options.schema),
            rules=declared_rules(options.rules, enum) if options.HasField("rules") else None,
            unchecked=options.unchecked,
        )

    def _node(self, field: FieldDescriptor, options: Any) -> Node:
        message = field.message_type
        if message is not None and message.GetOptions().map_entry:
            return MapSchema(self._single(message.fields_by_name["value"]), options.map_type)
        if field.is_repeated:
            element = self._typed(field.message_type) if options.typed else self._single(field)
            return ListSchema(element, *_list_type(options))
        if options.HasField("retyped") and self._additions.includes(options.retyped.since):
            return self.message(f"{_package(field)}.{options.retyped.message}")
        return self._single(field)

    def _typed(self, descriptor: Descriptor | None) -> StructSchema:
        """Return the struct of objects that carry their kind and apiVersion inside other objects."""
        assert descriptor is not None
        plain, place = self.struct(descriptor.full_name), descriptors.file_options(descriptor.file)
        group = self._naming.group(place.group)
        api_version = f"{group}/{place.version}" if group else place.version
        return StructSchema(
            plain.name,
            lambda: plain.fields,
            kind=plain.kind,
            recursive=plain.recursive,
            types={"kind": descriptor.name, "apiVersion": api_version},
            one_of=plain.one_of,
        )

    def _single(self, field: FieldDescriptor) -> Node:
        return _SCALARS[field.type] if field.message_type is None else self._compile(field.message_type)

    def _translated(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._naming.translate(value)
        if isinstance(value, list):
            return [self._translated(item) for item in value]
        if isinstance(value, dict):
            return {self._naming.translate(key): self._translated(item) for key, item in value.items()}
        return value

    def _enum(self, field: FieldDescriptor, name: str) -> EnumSchema:
        where, _, short = name.rpartition(".")
        package = f".{where}.v1" if where else f".{_package(field)}"
        return self._enums(package)[short]

    def _enums_of_package(self, suffix: str) -> dict[str, EnumSchema]:
        """Return the enums of the package whose dotted name ends in `suffix`."""
        file = next(file for file in descriptors.files() if f".{file.package}".endswith(suffix))
        return {
            enum.name: EnumSchema(
                enum.name, tuple(self._naming.translate(value) for value in self._values(enum)), enum.published
            )
            for enum in descriptors.file_options(file).enum
        }

    def _values(self, enum: Any) -> list[str]:
        has, drops = self._additions.includes, self._additions.drops
        later = (
            each
            for each in enum.later
            if has(each.since, each.feature_gate) and not drops(each.since, each.feature_gate)
        )
        return [*enum.value, *(value for each in later for value in each.value)]


def _package(field: FieldDescriptor) -> str:
    return field.full_name.rsplit(".", 2)[0]  # messages are not nested


def _list_type(options: Any) -> tuple[str, tuple[str, ...]]:
    """Return list type and map keys; an undeclared list type follows from the patch strategy (reference APPLY-33)."""
    if options.list_type or "merge" not in options.patch_strategy.split(","):
        return options.list_type, tuple(options.list_map_key)
    return ("map", (options.patch_merge_key,)) if options.patch_merge_key else ("set", ())


@cache
def _parts(descriptor: Descriptor) -> tuple[Descriptor, ...]:
    return tuple({field.message_type for field in descriptor.fields if field.message_type is not None})


def _contains_itself(descriptor: Descriptor) -> bool:
    """Report whether a value of this message may hold another one of it, at any depth."""
    seen: set[Descriptor] = set()
    waiting: Iterable[Descriptor] = _parts(descriptor)
    while waiting:
        seen.update(waiting)
        waiting = {part for message in waiting for part in _parts(message)} - seen
    return descriptor in seen

"""Compiler of declarations to schema nodes, message by message on demand, with names in the chosen vocabulary."""

from __future__ import annotations

from functools import cache
from typing import Any

from orchtw.naming.naming import Naming
from orchtw.schema import declarations
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
    "string": Scalar.STRING,
    "bool": Scalar.BOOL,
    "int32": Scalar.INT32,
    "int64": Scalar.INT64,
    "double": Scalar.DOUBLE,
    "bytes": Scalar.BYTES,
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
        if node is None:
            # Another thread may have made it meanwhile: the first one counts.
            node = self._nodes.setdefault(full_name, self._new(declarations.message(full_name)))
        return node

    def struct(self, full_name: str) -> StructSchema:
        """Return the node of a message with fields in JSON. Raises KeyError if unknown or of a special form."""
        node = self.message(full_name)
        if not isinstance(node, StructSchema):
            raise KeyError(full_name)
        return node

    def _new(self, message: declarations.Message) -> Node:
        form = _FORMS.get(".".join(message.full_name.rsplit(".", 3)[1:]))
        if form is not None:
            return form
        if message.name in _EITHERS:
            return EitherSchema(self.struct(message.field("schema").type), _EITHERS[message.name])
        options = message.options
        if options.go_form == _STRINGS_FORM:
            return NodeForm.STRINGS
        return StructSchema(
            message.full_name,
            lambda: self._fields(message),
            kind=options.kind,
            atomic=options.struct_type == "atomic",
            union=options.union,
            recursive=message.recursive,
            one_of=tuple(declared_one_of(each, self._naming) for each in options.one_of),
        )

    def _fields(self, message: declarations.Message) -> list[Field]:
        has = self._additions.includes
        return [
            self._field(message.package, field)
            for field in message.fields()
            if has(field.options.since, field.options.feature_gate)
        ]

    def _field(self, package: str, field: declarations.Field) -> Field:
        options = field.options
        enum = self._enum(package, options.enum) if options.enum else None
        return Field(
            name="" if options.inline else self._naming.translate(options.json or field.name),
            node=self._node(package, field),
            proto=field.name,
            number=field.number,
            inline=options.inline,
            pointer=options.pointer,
            omitempty=options.omitempty,
            required=options.required,
            optional=options.optional,
            default=MISSING if options.default is None else self._translated(loads(options.default)),
            enum=enum,
            patch_strategies=tuple(options.patch_strategy.split(",")) if options.patch_strategy else (),
            patch_merge_key=options.patch_merge_key,
            feature_gate=options.feature_gate,
            later=bool(options.since),
            dormant=self._additions.drops(options.since, options.feature_gate),
            union_discriminator=options.union_discriminator,
            element_pointer=options.element_pointer,
            markers=options.schema,
            rules=None if options.rules is None else declared_rules(options.rules, enum),
            unchecked=options.unchecked,
        )

    def _node(self, package: str, field: declarations.Field) -> Node:
        options = field.options
        if field.map:
            return MapSchema(self._single(field), options.map_type)
        if field.repeated:
            element = self._typed(field.type) if options.typed else self._single(field)
            return ListSchema(element, *_list_type(options))
        if options.retyped is not None and self._additions.includes(options.retyped.since):
            return self.message(f"{package}.{options.retyped.message}")
        return self._single(field)

    def _typed(self, full_name: str) -> StructSchema:
        """Return the struct of objects that carry their kind and apiVersion inside other objects."""
        plain, place = self.struct(full_name), declarations.file_of(full_name).options
        group, version = self._naming.group(place.group), place.version or ""
        api_version = f"{group}/{version}" if group else version
        return StructSchema(
            plain.name,
            lambda: plain.fields,
            kind=plain.kind,
            recursive=plain.recursive,
            types={"kind": full_name.rpartition(".")[2], "apiVersion": api_version},
            one_of=plain.one_of,
        )

    def _single(self, field: declarations.Field) -> Node:
        return self.message(field.type) if field.holds_message else _SCALARS[field.type]

    def _translated(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._naming.translate(value)
        if isinstance(value, list):
            return [self._translated(item) for item in value]
        if isinstance(value, dict):
            return {self._naming.translate(key): self._translated(item) for key, item in value.items()}
        return value

    def _enum(self, package: str, name: str) -> EnumSchema:
        where, _, short = name.rpartition(".")
        return self._enums(f".{where}.v1" if where else f".{package}")[short]

    def _enums_of_package(self, suffix: str) -> dict[str, EnumSchema]:
        """Return the enums of the package whose dotted name ends in `suffix`."""
        file = next(file for file in declarations.files() if f".{file.package}".endswith(suffix))
        return {
            enum.name: EnumSchema(
                enum.name, tuple(self._naming.translate(value) for value in self._values(enum)), enum.published
            )
            for enum in file.options.enum
        }

    def _values(self, enum: declarations.Enum) -> list[str]:
        has, drops = self._additions.includes, self._additions.drops
        later = (
            each
            for each in enum.later
            if has(each.since, each.feature_gate) and not drops(each.since, each.feature_gate)
        )
        return [*enum.value, *(value for each in later for value in each.value)]


def _list_type(options: declarations.FieldOptions) -> tuple[str, tuple[str, ...]]:
    """Return list type and map keys; an undeclared list type follows from the patch strategy (reference APPLY-33)."""
    if options.list_type or "merge" not in options.patch_strategy.split(","):
        return options.list_type, options.list_map_key
    return ("map", (options.patch_merge_key,)) if options.patch_merge_key else ("set", ())

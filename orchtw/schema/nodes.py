"""Schema nodes: the type, merge rules and default of a value, independent of any encoding.

Descriptors compile to these nodes (`compiler.py`), and so can anything else that describes JSON values. Codecs,
defaulting and all other code for typed values compile from the nodes, never from descriptors.
A `StructSchema` may contain itself; its fields are therefore loaded on first access.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from types import MappingProxyType
from typing import Any, Final, Literal

import attrs
import msgspec


class Scalar(Enum):
    """A value without parts."""

    STRING = auto()
    BOOL = auto()
    INT32 = auto()
    INT64 = auto()
    DOUBLE = auto()
    BYTES = auto()


class NodeForm(Enum):
    """A message with a JSON form of its own (reference ENC-19)."""

    TIME = auto()
    MICRO_TIME = auto()
    DURATION = auto()
    QUANTITY = auto()
    INT_OR_STRING = auto()
    ANY = auto()  # any JSON value, kept as JSON text in Protobuf
    OBJECT = auto()  # the same, but only an object
    STRINGS = auto()  # a message that is a list of strings


class Alternative(Enum):
    """Alternatives to a JSON schema object."""

    SCHEMAS = auto()
    BOOL = auto()
    STRINGS = auto()


class Missing(Enum):
    """The mark of an absent default, since None is a value."""

    MISSING = auto()


MISSING: Final = Missing.MISSING


class EnumSchema(msgspec.Struct, frozen=True):
    """A named set of string values; `published` ones appear in OpenAPI."""

    name: str
    values: tuple[str, ...]
    published: bool = False


@attrs.frozen(slots=True, eq=False, kw_only=True)
class StructRules:
    """Rules of a value beyond its type; `orchtw.schema.validation` checks them.

    `required`: present, and not zero if absence is zero; `required_detail` is the text if it is not. `immutable`:
    unchanged; not for fields inside a list or map. `allowed`: the only values of a text; empty: any. `max_length` is
    in bytes of UTF-8. `min_items` and `max_items` count a list's elements or a map's keys. `unique`: no element of a
    list comes twice; in a list of type map those with equal keys are the same. `unique_by`: the same by one key, for
    a list of any type. `format` is a name in `validation/formats.py`. `detail` is the text for a number beyond its
    limits; empty: the usual text. `key` holds for each key of a map, `item` for each of its values or each element of
    a list.
    """

    required: bool = False
    immutable: bool = False
    allowed: tuple[str, ...] = ()
    minimum: int | float | None = None
    maximum: int | float | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    unique: bool = False
    format: str = ""
    detail: str = ""
    required_detail: str = ""
    unique_by: str = ""
    key: StructRules | None = None
    item: StructRules | None = None


class OneOf(msgspec.Struct, frozen=True, eq=False):
    """Keys of a struct of which at most one is set; `missing`: the text if none is set, empty: that is valid."""

    keys: tuple[str, ...]
    too_many: str
    missing: str = ""


class ListSchema(msgspec.Struct, frozen=True, eq=False):
    """A list. `list_type` is "atomic", "set", "map" or "" (undeclared); `map_keys` tell elements of a map apart."""

    element: Node
    list_type: str = ""
    map_keys: tuple[str, ...] = ()


class MapSchema(msgspec.Struct, frozen=True, eq=False):
    """An object with free keys. `map_type` is "atomic", "granular" or "" (undeclared: granular)."""

    value: Node
    map_type: str = ""


class EitherSchema(msgspec.Struct, frozen=True, eq=False):
    """A schema object, or its `alternative` (apiextensions JSONSchemaPropsOr…)."""

    schema: StructSchema
    alternative: Alternative


@attrs.frozen(slots=True, eq=False, kw_only=True)
class Field:
    """One field of a struct.

    `name` is the JSON key ("" when inline: the struct's keys stand in the parent), `proto` and `number` its place in
    Protobuf. `pointer`: absence differs from zero. `omitempty`: left out of JSON when zero. `default` is the JSON
    value that fills an absent field, or MISSING. `rules`: the rules of a valid value; None: any. `unchecked`: the
    rules of the value's own type do not apply. `later`: it came after release 1.24, and an absent one takes no bytes
    of Protobuf, so that objects without it have that release's encoding. `dormant`: dropped when an object is
    written, as its gate is off. `description` is the one for OpenAPI; if it is "", that comes from the protos.
    """

    name: str
    node: Node
    proto: str = ""
    number: int = 0
    inline: bool = False
    pointer: bool = False
    omitempty: bool = False
    required: bool = False
    optional: bool = False
    default: Any = MISSING
    enum: EnumSchema | None = None
    patch_strategies: tuple[str, ...] = ()
    patch_merge_key: str = ""
    feature_gate: str = ""
    later: bool = False
    dormant: bool = False
    union_discriminator: bool = False
    element_pointer: bool = False
    markers: tuple[str, ...] = ()
    rules: StructRules | None = None
    unchecked: bool = False
    description: str = ""


StructKind = Literal["", "object", "list"]


class StructSchema:
    """An object with known keys, in emission order.

    `name` is the full message name, or any unique name, or "" for a part of one other struct. `kind`: it stands for
    whole objects or lists, which carry kind and apiVersion in JSON; "" for every other struct. `atomic`: merges
    replace it as a whole. `union`: at most one of its fields is set. `recursive`: it contains itself, so its depth
    has no bound of its own. `types` are the kind and apiVersion that each value gets, regardless of its input; empty:
    none. `unknown` is the schema of keys without a field; None: such keys are not allowed. `one_of`: which of
    its keys exclude each other. `description`: see `Field`.
    """

    __slots__ = (
        "_fields", "_flat", "_load", "atomic", "description", "kind", "name", "one_of", "recursive", "types",
        "union", "unknown",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        fields: Sequence[Field] | Callable[[], Sequence[Field]],
        *,
        kind: StructKind = "",
        atomic: bool = False,
        union: bool = False,
        recursive: bool = False,
        unknown: Node | None = None,
        types: Mapping[str, str] = MappingProxyType({}),
        one_of: tuple[OneOf, ...] = (),
        description: str = "",
    ) -> None:
        self.name = name
        self.kind = kind
        self.one_of = one_of
        self.atomic = atomic
        self.unknown = unknown
        self.types = types
        self.union = union
        self.recursive = recursive
        self.description = description
        self._load = fields if callable(fields) else lambda: fields
        self._fields: tuple[Field, ...] | None = None
        self._flat: dict[str, Field] | None = None

    def __repr__(self) -> str:
        return f"StructSchema({self.name!r})"

    @property
    def fields(self) -> tuple[Field, ...]:
        """The declared fields in emission order, an inline struct as one field."""
        if self._fields is None:
            self._fields = tuple(self._load())
        return self._fields

    @property
    def keys(self) -> dict[str, Field]:
        """JSON key → field in emission order, the keys of inline structs in their place."""
        if self._flat is None:
            flat: dict[str, Field] = {}
            for field in self.fields:
                if field.inline and isinstance(field.node, StructSchema):
                    flat.update(field.node.keys)
                else:
                    flat[field.name] = field
            self._flat = flat  # assigned when complete: another thread may be reading
        return self._flat


Node = Scalar | NodeForm | StructSchema | ListSchema | MapSchema | EitherSchema

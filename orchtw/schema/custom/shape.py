"""The shape that a structural schema gives to values: unknown fields pruned, defaults filled in (reference CRD-15).

This is the direct way, which takes any value, tells what it dropped, and leaves what does not fit as it is. The quick
way for values that fit is written in `shape_code.py` and comes to the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

import orjson

from orchtw.schema.codec.mismatch import Mismatch, SchemaError
from orchtw.schema.codec.strict_fields import MAX_FINDINGS, KnownKeys, Path, unknown_field
from orchtw.schema.custom.extensions import TYPE_FIELDS, Extensions, Schema
from orchtw.schema.custom.keywords import is_integer, types_of
from orchtw.schema.custom.treatment import Null, Unknown, has_default, keeps_unknown, list_item, null_in, unknown_key
from orchtw.schema.nodes import MISSING, StructSchema
from orchtw.schema.values import any_value, in_order
from orchtw.wire.json_values import loads

MAX_FILLED_BYTES: Final = 4 << 20
"""Size limit of the defaults filled into one object, in JSON: with more it could not be stored."""

_OVERHEAD_BYTES: Final = 32  # of each default, which may be empty


class Overfilled(Exception):
    """An object would get more defaults than may be stored."""


class Filling(threading.local):
    """Counts the defaults that come into one object, in each thread by itself."""

    def __init__(self, most_bytes: int = MAX_FILLED_BYTES) -> None:
        self._most = self._left = most_bytes

    def begin(self) -> None:
        """Begin to count for a new object."""
        self._left = self._most

    def fresh(self, text: bytes) -> Any:
        """Return the value of a default's JSON. Raises Overfilled."""
        self._left -= len(text) + _OVERHEAD_BYTES
        if self._left < 0:
            raise Overfilled
        return loads(text)


class Metadata:
    """Reads ObjectMeta, of objects and of those within them; `normalise` makes it canonical."""

    def __init__(self, schema: StructSchema, normalise: Callable[[Any], dict[str, Any]], known: KnownKeys) -> None:
        self._schema = schema
        self._normalise = normalise
        self._known = known

    def read(self, value: Any, lost: list[str], path: Path = None) -> dict[str, Any]:
        """Return the canonical metadata; `lost` takes what is not in it. Raises SchemaError."""
        found = self._normalise(value)
        if value:
            lost += self._known.findings(self._schema, value, path=path)
        return found

    def embedded(self, value: Any, lost: list[str], path: Path = None) -> dict[str, Any]:
        """Return that of an object within another one: without the time when it was made, if there is none."""
        found = self.read(value, lost, path)
        if found.get("creationTimestamp") is None:
            found.pop("creationTimestamp", None)
        return found

    def readable(self, value: Any) -> dict[str, Any]:
        """Return the members of it that can be read."""
        members = value.items() if type(value) is dict else ()
        return {key: item for key, item in members if self._fits(key, item)}

    def _fits(self, key: str, value: Any) -> bool:
        try:
            self._normalise({key: value})
        except SchemaError:
            return False
        return True


class Shaper:
    """Shapes values of one schema, or parts of it.

    `fill`: with defaults. `lenient`: metadata of wrong types loses what does not fit, which otherwise raises
    SchemaError. `lost` are the first fields that were dropped, as a strict reader tells them. With `fill` it
    raises Overfilled after defaults of `most_bytes`.
    """

    def __init__(
        self,
        keys: Extensions,
        metadata: Metadata,
        *,
        fill: bool,
        lenient: bool = False,
        most_bytes: int = MAX_FILLED_BYTES,
    ) -> None:
        self.lost: list[str] = []
        self._keys = keys
        self._metadata = metadata
        self._fill = fill
        self._lenient = lenient
        self._filling = Filling(most_bytes)

    def root(self, value: dict[str, Any], schema: Schema) -> dict[str, Any]:
        """Return a whole object without apiVersion and kind; the metadata stands first."""
        meta = {"metadata": self._object_meta(value.get("metadata"), (None, ".metadata"), self._metadata.read)}
        return meta | self._below_type(value, schema, None, False)

    def value(self, value: Any, schema: Schema | None, path: Path = None, skip: bool = False) -> Any:
        """Return a value of `schema`; None: nothing is known of it. `skip`: what holds it keeps its unknown fields.
        """
        if type(value) is dict:
            if schema is None:
                return any_value(value) if skip else self._emptied(value, path)
            if schema.get(self._keys.embedded):
                return self.type_fields(value, path) | self._below_type(value, schema, path, skip)
            return self._object(value, schema, path, skip)
        if type(value) is list:
            return self._list(value, schema, path, skip)
        if type(value) is float and schema is not None:
            return plain_number(value) if self._is_number(schema) else value
        return value

    def _emptied(self, value: dict[str, Any], path: Path) -> dict[str, Any]:
        for key in value:
            self._lose((path, f".{key}"))
        return {}

    def _lose(self, path: Path) -> None:
        if len(self.lost) < MAX_FINDINGS:
            self.lost.append(unknown_field(path))

    def type_fields(self, value: dict[str, Any], path: Path = None) -> dict[str, Any]:
        """Return what an object says of itself that is within another one."""
        out = {}
        for key in ("apiVersion", "kind"):
            if value.get(key) is not None:
                if type(value[key]) is str:
                    out[key] = value[key]
                elif not self._lenient:
                    raise Mismatch("a string", value[key]).at(text_of((path, f".{key}")))
        if value.get("metadata") is not None:
            out["metadata"] = self._object_meta(value["metadata"], (path, ".metadata"), self._metadata.embedded)
        return out

    def _below_type(self, value: dict[str, Any], schema: Schema, path: Path, skip: bool) -> dict[str, Any]:
        rest = {key: item for key, item in value.items() if key not in TYPE_FIELDS}
        properties = {key: item for key, item in (schema.get("properties") or {}).items() if key not in TYPE_FIELDS}
        return self._object(rest, {**schema, "properties": properties}, path, skip)

    def _object(self, value: dict[str, Any], schema: Schema, path: Path, skip: bool) -> dict[str, Any]:
        members = schema.get("properties") or {}
        out = {}
        for key in in_order(members):
            found = value.get(key, MISSING)
            if found is not None and found is not MISSING:
                out[key] = self.value(found, members[key], (path, f".{key}"))
            elif (found := self._without(found, members[key])) is not MISSING:
                out[key] = found
        if not members.keys() >= value.keys():
            unknown = unknown_key(schema, self._keys, keeps=skip)
            for key in in_order(value.keys() - members.keys()):
                found = self._unknown(unknown, value[key], schema, (path, f".{key}"))
                if found is not MISSING:
                    out[key] = found
        return out

    def _unknown(self, treatment: Unknown, value: Any, schema: Schema, path: Path) -> Any:
        """Return the value under an undeclared key, or MISSING."""
        if treatment is Unknown.SHAPED:
            more = schema["additionalProperties"]
            return self._null(null_in("value", more), more) if value is None else self.value(value, more, path)
        if treatment is Unknown.PRUNED:
            self._lose(path)
            return MISSING
        return kept(value) if treatment is Unknown.STAYS else self.bare(value, path)

    def bare(self, value: Any, path: Path = None) -> Any:
        """Return a value of which nothing is known, without the members of objects."""
        return kept(self.value(value, None, path))

    def _without(self, value: Any, schema: Schema) -> Any:
        """Return the value of a declared member that is null or MISSING, or MISSING."""
        if value is None:
            return self._null(null_in("member", schema), schema)
        return self.default(schema) if self._fill and has_default(schema) else MISSING

    def _null(self, treatment: Null, schema: Schema) -> Any:
        """Return the value in place of a null, or MISSING."""
        if self._fill and treatment in (Null.DEFAULT, Null.WAITS):
            return self.default(schema)
        return MISSING if treatment in (Null.DEFAULT, Null.GOES) else None

    def default(self, schema: Schema) -> Any:
        """Return a fresh default, with the defaults that are in it."""
        return self.value(self._filling.fresh(orjson.dumps(schema["default"])), schema)

    def _list(self, value: list[Any], schema: Schema | None, path: Path, skip: bool) -> list[Any]:
        if list_item(schema, self._keys, keeps=skip) is Unknown.STAYS:
            return kept(value)  # type: ignore[no-any-return]
        items = None if schema is None else schema.get("items")
        keeps = skip or keeps_unknown(schema, self._keys)
        return [
            self._null(null_in("item", items), items)
            if each is None and items is not None
            else self.value(each, items, (path, f"[{index}]"), keeps)
            for index, each in enumerate(value)
        ]

    def _is_number(self, schema: Schema) -> bool:
        return not {"integer", "number"}.isdisjoint(types_of(schema, self._keys))

    def _object_meta(self, value: Any, path: Path, read: Callable[..., dict[str, Any]]) -> dict[str, Any]:
        try:
            return read(value, self.lost, path)
        except SchemaError as error:
            if not self._lenient:
                raise error.at(text_of(path)) from None
        return read(self._metadata.readable(value), [])


def kept(value: Any) -> Any:
    """Return a value of which nothing is known. Raises Mismatch for one that nests too deeply."""
    return value if value is None else any_value(value)


def plain_number(value: float) -> float:
    """Return a number as it is written: without a fraction where it has none."""
    return int(value) if is_integer(value) else value


def text_of(path: Path) -> str:
    """Return the path in words: `.spec.a[0]`."""
    steps = []
    while path is not None:
        path, step = path
        steps.append(step)
    return "".join(reversed(steps))

"""The shape of values that fit their schema, by functions written for it (reference CRD-15, CRD-16).

In one pass they check types, prune, fill in defaults and put keys in order. What does not fit is not told here: they
raise Misfit, and the caller takes the direct way (`shape.py`), which comes to the same for all that fits.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from orchtw.schema.custom.keywords import TYPE_FIELDS, Extensions, Schema
from orchtw.schema.custom.parts import SchemaParts, SchemaSource, Unsure
from orchtw.schema.custom.shape import Filling, Metadata, Shaper, kept, plain_number
from orchtw.schema.values import in_order

_WIDEST: Final = 256  # members of a struct that is compiled: some 10 ms; others take the direct way
_SHORT: Final = 64  # characters of a default that need not be counted
_LARGEST: Final = 2**63 - 1
_SMALLEST: Final = -(2**63)


class Misfit(Exception):
    """A value is not of the type that its schema says."""


def shapes(source: bytes, keys: Extensions, metadata: Metadata) -> SchemaParts:
    """Functions of a value, whether to fill in defaults, and a list that grows when something is dropped.

    Each gives a new value. They raise Misfit and Unsure, and SchemaError for metadata and what nests too deeply.
    """
    writer, filling = _Shapes(keys, metadata), Filling()
    given = {
        "Misfit": Misfit,
        "bare": _Bare(keys, metadata).bare,
        "Unsure": Unsure,
        "embedded": metadata.embedded,
        "fresh": filling.fresh,
        "in_order": in_order,
        "integer": _integer,
        "kept": kept,
        "metadata": metadata.read,
        "number": _number,
        "string": _string,
        "either": _either,
        "boolean": _boolean,
    }
    return SchemaParts(source, writer.write, given, filling.begin)


def _string(value: Any) -> str:
    if type(value) is not str:
        raise Misfit
    return value


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise Misfit
    return value


def _integer(value: Any) -> float:
    if type(value) is float:
        value = plain_number(value)
    if type(value) is not int or not _SMALLEST <= value <= _LARGEST:
        raise Misfit
    return value


def _number(value: Any) -> float:
    if type(value) is float:
        return plain_number(value)
    if type(value) is not int:
        raise Misfit
    return value


def _either(value: Any) -> Any:
    return value if type(value) is str else _integer(value)


class _Bare:
    """Drops the members of values of which nothing may be known."""

    def __init__(self, keys: Extensions, metadata: Metadata) -> None:
        self._keys = keys
        self._metadata = metadata

    def bare(self, value: Any, lost: list[str]) -> Any:
        """The value without them; `lost` grows if there were any."""
        direct = Shaper(self._keys, self._metadata, fill=False)
        found = kept(direct.value(value, None))
        lost += direct.lost
        return found


_USUAL: Final = {
    "string": "type(x) is str",
    "boolean": "type(x) is bool",
    "either": "type(x) is str",
    "integer": f"type(x) is int and {_SMALLEST} <= x <= {_LARGEST}",
}
"""What makes a scalar fit as it is, by its function."""

_SCALARS: Final = {"string": "string", "boolean": "boolean", "integer": "integer", "number": "number"}


class _Shapes:
    """Generator of the functions."""

    def __init__(self, keys: Extensions, metadata: Metadata) -> None:
        self._keys = keys
        self._metadata = metadata

    def write(self, schema: Schema, w: SchemaSource) -> None:
        """The function of a part that is no scalar."""
        kind = schema.get("type", "")
        with w.block(f"def {w.name}(v, fill, lost):"):
            with w.block("if type(v) is dict:"):
                if kind == "array":
                    w("raise Misfit")
                elif len(schema.get("properties") or {}) > _WIDEST:
                    w("raise Unsure")
                else:
                    self._object(schema, w)
            with w.block("if type(v) is list:"):
                if kind == "object":
                    w("raise Misfit")
                else:
                    self._list(schema, w)
            w("raise Misfit" if kind else "return v")

    def _object(self, schema: Schema, w: SchemaSource) -> None:
        root, embedded = not w.place, bool(schema.get(self._keys.embedded))
        members = schema.get("properties") or {}
        w("out = {}")
        if root:
            w("out['metadata'] = metadata(v.get('metadata'), lost)")
        elif embedded:
            self._type_fields(w)
        implied = TYPE_FIELDS if root or embedded else frozenset()
        for key in sorted(members.keys() - implied):
            self._member(key, members[key], w)
        self._others(schema, implied.union(members), w)
        w("return out")

    def _type_fields(self, w: SchemaSource) -> None:
        for key in ("apiVersion", "kind"):
            with w.block(f"if v.get({key!r}) is not None:"):
                w(f"out[{key!r}] = string(v[{key!r}])")
        with w.block("if v.get('metadata') is not None:"):
            w("out['metadata'] = embedded(v['metadata'], lost)")

    def _member(self, key: str, schema: Schema, w: SchemaSource) -> None:
        """Write the code for a declared key."""
        name, has_default = repr(key), "default" in schema
        with w.block(f"if {name} in v:"):
            w(f"x = v[{name}]")
            if schema.get("nullable"):
                w(f"out[{name}] = None if x is None else {self._value(schema, w, 'properties', key)}")
            else:
                with w.block("if x is not None:"):
                    w(f"out[{name}] = {self._value(schema, w, 'properties', key)}")
                if has_default:
                    with w.block("elif fill:"):
                        w(f"out[{name}] = {self._default(schema, w)}")
        if has_default:
            with w.block("elif fill:"):
                w(f"out[{name}] = {self._default(schema, w)}")

    def _others(self, schema: Schema, known: frozenset[str], w: SchemaSource) -> None:
        """The keys that are not declared."""
        more = schema.get("additionalProperties")
        if isinstance(more, dict):
            self._free_keys(more, known, w)
        elif more is not None or schema.get(self._keys.preserve):
            value = "kept(v[k])" if more is None else "bare(v[k], lost)"
            with w.block(f"if not {w.constant(known)}.issuperset(v):"):
                with w.block("for k in in_order(v):"):
                    with w.block(f"if k not in {w.constant(known)}:"):
                        w(f"out[k] = {value}")
        else:
            with w.block(f"if not {w.constant(known)}.issuperset(v):"):
                w("lost.append('')")

    def _free_keys(self, more: Schema, known: frozenset[str], w: SchemaSource) -> None:
        value = self._value(more, w, "additionalProperties")
        with w.block("for k in in_order(v):"):
            if known:
                with w.block(f"if k in {w.constant(known)}:"):
                    w("continue")
            w("x = v[k]")
            if more.get("nullable"):
                w(f"out[k] = None if x is None else {value}")
                return
            with w.block("if x is not None:"):
                w(f"out[k] = {value}")
            if "default" in more:
                with w.block("else:"):
                    w(f"out[k] = {self._default(more, w)} if fill else None")

    def _list(self, schema: Schema, w: SchemaSource) -> None:
        items = schema.get("items")
        if items is None:
            w("return kept(v)" if schema.get(self._keys.preserve) else "raise Misfit")
            return
        if schema.get(self._keys.preserve):  # what is in it is half known: too rare for a function
            w("raise Unsure")
            return
        value = self._value(items, w, "items")
        if items.get("nullable"):
            value = f"None if x is None else {value}"
        elif "default" in items:
            value = f"({self._default(items, w)} if fill else None) if x is None else {value}"
        w(f"return [{value} for x in v]")

    def _value(self, schema: Schema, w: SchemaSource, *steps: str) -> str:
        """The expression of the value of `x`, which is not null."""
        kind = self._kind(schema)
        if not kind:
            return f"{w.part(schema, *steps)}(x, fill, lost)"
        usual = _USUAL.get(kind)
        return f"(x if {usual} else {kind}(x))" if usual else f"{kind}(x)"  # -20 % of the time: no call

    def _kind(self, schema: Schema) -> str:
        """Return the function of a scalar; empty for other types."""
        if schema.get(self._keys.int_or_string):
            return "either"
        return _SCALARS.get(schema.get("type", ""), "")

    def _default(self, schema: Schema, w: SchemaSource) -> str:
        """The expression of a fresh default."""
        value = Shaper(self._keys, self._metadata, fill=True).default(schema)
        if (type(value) in (dict, list) and value) or (type(value) is str and len(value) > _SHORT):
            return f"fresh({w.constant(orjson.dumps(value))})"
        return repr(value)

"""The shape of values that fit their schema, by functions written for it (reference CRD-15, CRD-16).

In one pass they check types, prune, fill in defaults and put keys in order. What does not fit is not told here: they
raise Misfit, and the caller takes the direct way (`shape.py`), which comes to the same for all that fits.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from orchtw.schema.custom.keywords import TYPE_FIELDS, Extensions, Schema
from orchtw.schema.custom.known_members import KnownMembers
from orchtw.schema.custom.parts import FunctionSource, SchemaParts, Unsure
from orchtw.schema.custom.rules import LARGEST, SMALLEST, TYPES, types_of
from orchtw.schema.custom.shape import Filling, Metadata, Shaper, kept, plain_number
from orchtw.schema.custom.treatment import (
    Null,
    Unknown,
    has_default,
    keeps_unknown,
    list_item,
    null_item,
    null_member,
    null_value,
    unknown_key,
)
from orchtw.schema.values import in_order

_WIDEST: Final = 256  # members of a struct that is compiled: some 10 ms; others take the direct way
_SHORT: Final = 64  # characters of a default that need not be counted


class Misfit(Exception):
    """A value is not of the type that its schema says."""


def shapes(source: bytes, keys: Extensions, metadata: Metadata, known: KnownMembers) -> SchemaParts:
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
        "known": known.shaped,
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
    if type(value) is not int or not SMALLEST <= value <= LARGEST:
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
        """Return the value without them; `lost` grows if there were any."""
        direct = Shaper(self._keys, self._metadata, fill=False)
        found = kept(direct.value(value, None))
        lost += direct.lost
        return found


_USUAL: Final = {
    "string": TYPES["string"].written("x"),
    "boolean": TYPES["boolean"].written("x"),
    "either": TYPES["string"].written("x"),
    "integer": f"type(x) is int and {SMALLEST} <= x <= {LARGEST}",
}
"""Test that a scalar fits as it is, by its function."""

_SCALARS: Final = {"string": "string", "boolean": "boolean", "integer": "integer", "number": "number"}


class _Shapes:
    """Generator of the functions."""

    def __init__(self, keys: Extensions, metadata: Metadata) -> None:
        self._keys = keys
        self._metadata = metadata

    def write(self, schema: Schema, w: FunctionSource) -> None:
        """Write the function of an object or list."""
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

    def _object(self, schema: Schema, w: FunctionSource) -> None:
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

    def _type_fields(self, w: FunctionSource) -> None:
        for key in ("apiVersion", "kind"):
            with w.block(f"if v.get({key!r}) is not None:"):
                w(f"out[{key!r}] = string(v[{key!r}])")
        with w.block("if v.get('metadata') is not None:"):
            w("out['metadata'] = embedded(v['metadata'], lost)")

    def _member(self, key: str, schema: Schema, w: FunctionSource) -> None:
        """Write the code for a declared key."""
        name, null = repr(key), null_member(schema)
        with w.block(f"if {name} in v:"):
            w(f"x = v[{name}]")
            if null is Null.STAYS:
                w(f"out[{name}] = None if x is None else {self._value(schema, w, 'properties', key)}")
            else:
                with w.block("if x is not None:"):
                    w(f"out[{name}] = {self._value(schema, w, 'properties', key)}")
                if null is Null.DEFAULT:
                    with w.block("elif fill:"):
                        w(f"out[{name}] = {self._default(schema, w)}")
        if has_default(schema):
            with w.block("elif fill:"):
                w(f"out[{name}] = {self._default(schema, w)}")

    def _others(self, schema: Schema, known: frozenset[str], w: FunctionSource) -> None:
        """Write the code for the keys that are not declared."""
        treatment = unknown_key(schema, self._keys)
        if treatment is Unknown.SHAPED:
            self._free_keys(schema["additionalProperties"], known, w)
            return
        with w.block(f"if not {w.constant(known)}.issuperset(v):"):
            if treatment is Unknown.PRUNED:
                w("lost.append('')")
                return
            with w.block("for k in in_order(v):"):
                with w.block(f"if k not in {w.constant(known)}:"):
                    w("out[k] = kept(v[k])" if treatment is Unknown.STAYS else "out[k] = bare(v[k], lost)")

    def _free_keys(self, more: Schema, known: frozenset[str], w: FunctionSource) -> None:
        value, null = self._value(more, w, "additionalProperties"), null_value(more)
        with w.block("for k in in_order(v):"):
            if known:
                with w.block(f"if k in {w.constant(known)}:"):
                    w("continue")
            w("x = v[k]")
            if null is Null.STAYS:
                w(f"out[k] = None if x is None else {value}")
                return
            with w.block("if x is not None:"):
                w(f"out[k] = {value}")
            if null is Null.WAITS:
                with w.block("else:"):
                    w(f"out[k] = {self._default(more, w)} if fill else None")

    def _list(self, schema: Schema, w: FunctionSource) -> None:
        treatment = list_item(schema, self._keys)
        if treatment is not Unknown.SHAPED:
            w("return kept(v)" if treatment is Unknown.STAYS else "raise Misfit")
            return
        if keeps_unknown(schema, self._keys):  # half of each item is known: too rare for a function
            w("raise Unsure")
            return
        items = schema["items"]
        value, null = self._value(items, w, "items"), null_item(items)
        if null is Null.STAYS:
            value = f"None if x is None else {value}"
        elif null is Null.WAITS:
            value = f"({self._default(items, w)} if fill else None) if x is None else {value}"
        w(f"return [{value} for x in v]")

    def _value(self, schema: Schema, w: FunctionSource, *steps: str) -> str:
        """Return the expression of the value of `x`, which is not null."""
        kind = self._kind(schema)
        if not kind:
            name = w.part(schema, *steps)
            return f"{name}(x, fill, lost)" if w.place else f"known({name!r}, {name}, x, fill, lost)"
        usual = _USUAL.get(kind)
        return f"(x if {usual} else {kind}(x))" if usual else f"{kind}(x)"  # -20 % of the time: no call

    def _kind(self, schema: Schema) -> str:
        """Return the function of a scalar; empty for other types."""
        types = types_of(schema, self._keys)
        return "either" if len(types) > 1 else _SCALARS.get("".join(types), "")

    def _default(self, schema: Schema, w: FunctionSource) -> str:
        """Return the expression of a fresh default."""
        value = Shaper(self._keys, self._metadata, fill=True).default(schema)
        if (type(value) in (dict, list) and value) or (type(value) is str and len(value) > _SHORT):
            return f"fresh({w.constant(orjson.dumps(value))})"
        return repr(value)

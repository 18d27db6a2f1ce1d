"""The shape of values that fit their schema, by functions written for it (reference CRD-15, CRD-16).

In one pass they check types, prune, fill in defaults and put keys in order. What does not fit is not told here: they
raise Misfit, and the caller takes the direct way (`shape.py`), which comes to the same for all that fits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import orjson

from orchtw.schema.custom.extensions import TYPE_FIELDS, Extensions, Schema
from orchtw.schema.custom.keywords import LARGEST, SMALLEST, TYPES, is_integer, types_of
from orchtw.schema.custom.known_members import KnownMembers
from orchtw.schema.custom.parts import FunctionSource, SchemaParts, Unsure
from orchtw.schema.custom.shape import Filling, Metadata, Shaper, kept, plain_number
from orchtw.schema.custom.treatment import Null, Unknown, has_default, keeps_unknown, list_item, null_in, unknown_key
from orchtw.schema.values import in_order

_WIDEST: Final = 256  # members of a struct that is compiled: some 10 ms; others take the direct way
_SHORT: Final = 64  # characters of a default that need not be counted


class Misfit(Exception):
    """A value is not of the type that its schema says."""


def shapes(source: bytes, keys: Extensions, metadata: Metadata, known: KnownMembers) -> SchemaParts:
    """Functions of a value, whether to fill in defaults, and a list that grows when something is dropped.

    Each gives a new value. They raise Misfit and Unsure, and SchemaError for metadata and what nests too deeply.
    """

    def directly(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that takes the direct way; its list grows too."""

        def call(value: Any, lost: list[str]) -> Any:
            direct = Shaper(keys, metadata, fill=False)
            found = method(direct, value)
            lost += direct.lost
            return found

        return call

    writer, filling = _Shapes(keys, metadata), Filling()
    given = {
        "Misfit": Misfit,
        "Unsure": Unsure,
        "bare": directly(Shaper.bare),
        "fresh": filling.fresh,
        "in_order": in_order,
        "integer": _integer,
        "kept": kept,
        "known": known.shaped,
        "metadata": metadata.read,
        "misfit": _misfit,
        "number": _number,
        "type_fields": directly(Shaper.type_fields),
    }
    return SchemaParts(source, writer.write, given, filling.begin)


def _misfit(_: Any) -> Any:
    raise Misfit


def _integer(value: Any) -> int:
    return int(value) if is_integer(value) else _misfit(value)


def _number(value: Any) -> float:
    return plain_number(value) if type(value) is float else _misfit(value)


_STRING: Final = TYPES["string"].written("x")
_INTEGER: Final = f"type(x) is int and {SMALLEST} <= x <= {LARGEST}"
_SCALARS: Final = {
    ("string",): (_STRING, "misfit"),
    ("boolean",): (TYPES["boolean"].written("x"), "misfit"),
    ("integer",): (_INTEGER, "integer"),
    ("number",): ("type(x) is int", "number"),
    ("integer", "string"): (f"{_STRING} or {_INTEGER}", "integer"),
}
"""Test that a scalar fits as it is, and the function of others, by its types."""


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
        w("out = type_fields(v, lost)" if embedded and not root else "out = {}")
        if root:
            w("out['metadata'] = metadata(v.get('metadata'), lost)")
        implied = TYPE_FIELDS if root or embedded else frozenset()
        for key in sorted(members.keys() - implied):
            name, member = repr(key), members[key]
            with w.block(f"if {name} in v:"):
                w(f"x = v[{name}]")
                self._put(f"out[{name}]", null_in("member", member), member, w, "properties", key)
            if has_default(member):
                with w.block("elif fill:"):
                    w(f"out[{name}] = {self._default(member, w)}")
        self._others(schema, implied.union(members), w)
        w("return out")

    def _put(self, target: str, null: Null, schema: Schema, w: FunctionSource, *steps: str) -> None:
        """Write that `target` becomes the value of `x`."""
        value = self._value(schema, w, *steps)
        if null is Null.STAYS:
            w(f"{target} = None if x is None else {value}")
            return
        with w.block("if x is not None:"):
            w(f"{target} = {value}")
        if null is not Null.GOES:
            with w.block("elif fill:"):
                w(f"{target} = {self._default(schema, w)}")
        if null is Null.WAITS:
            with w.block("else:"):
                w(f"{target} = None")

    def _others(self, schema: Schema, known: frozenset[str], w: FunctionSource) -> None:
        """Write the code for the keys that are not declared."""
        treatment, constant = unknown_key(schema, self._keys), w.constant(known)
        if treatment is Unknown.SHAPED:
            more = schema["additionalProperties"]
            with w.block("for k in in_order(v):"):
                if known:
                    with w.block(f"if k in {constant}:"):
                        w("continue")
                w("x = v[k]")
                self._put("out[k]", null_in("value", more), more, w, "additionalProperties")
            return
        with w.block(f"if not {constant}.issuperset(v):"):
            if treatment is Unknown.PRUNED:
                w("lost.append('')")
            else:
                value = "kept(v[k])" if treatment is Unknown.STAYS else "bare(v[k], lost)"
                with w.block("for k in in_order(v):"), w.block(f"if k not in {constant}:"):
                    w(f"out[k] = {value}")

    def _list(self, schema: Schema, w: FunctionSource) -> None:
        treatment = list_item(schema, self._keys)
        if treatment is not Unknown.SHAPED:
            w("return kept(v)" if treatment is Unknown.STAYS else "raise Misfit")
            return
        if keeps_unknown(schema, self._keys):  # half of each item is known: too rare for a function
            w("raise Unsure")
            return
        items = schema["items"]
        value, null = self._value(items, w, "items"), null_in("item", items)
        if null is Null.STAYS:
            value = f"None if x is None else {value}"
        elif null is Null.WAITS:
            value = f"({self._default(items, w)} if fill else None) if x is None else {value}"
        w(f"return [{value} for x in v]")

    def _value(self, schema: Schema, w: FunctionSource, *steps: str) -> str:
        """Return the expression of the value of `x`, which is not null."""
        scalar = _SCALARS.get(types_of(schema, self._keys))
        if scalar is None:
            name = w.part(schema, *steps)
            return f"{name}(x, fill, lost)" if w.place else f"known({name!r}, {name}, x, fill, lost)"
        return f"(x if {scalar[0]} else {scalar[1]}(x))"  # -20 % of the time: no call

    def _default(self, schema: Schema, w: FunctionSource) -> str:
        """Return the expression of a fresh default."""
        value = Shaper(self._keys, self._metadata, fill=True).default(schema)
        if (type(value) in (dict, list) and value) or (type(value) is str and len(value) > _SHORT):
            return f"fresh({w.constant(orjson.dumps(value))})"
        return repr(value)

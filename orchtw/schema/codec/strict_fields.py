"""Strict field validation: unknown and repeated keys.

Both are rare, so two quick tests come first, and the walk that names the places follows only if one of them fails.
The value must otherwise fit its schema: normalise it first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import RLock
from typing import Any, Final

import orjson

from orchtw.schema.codec.json_text import parse_pairs
from orchtw.schema.codec.mismatch import shortened
from orchtw.schema.nodes import EitherSchema, ListSchema, MapSchema, Node, NodeForm, Scalar, StructSchema

IGNORE: Final = "Ignore"
WARN: Final = "Warn"
STRICT: Final = "Strict"
"""The field validation directives (reference WRITE-23, WRITE-24): Ignore, Warn or Strict."""

MAX_FINDINGS: Final = 100
"""Limit of the findings that the API reports for one value."""

TYPE_KEYS: Final = ("kind", "apiVersion")

_Check = Callable[[Any], None]
_Table = dict[str, _Check | None]


class _Open(_Table):
    """The table of a struct that accepts any keys; `others` is the check of values under keys without a field."""

    others: _Check | None = None

    def __missing__(self, key: str) -> _Check | None:
        return self.others


_SHOWN_CHARACTERS: Final = 512


Path = tuple["Path | None", str] | None
"""The path of a key: that of its parent and one more step; joined only where it is shown."""


class KnownKeys:
    """Tests values for unknown keys, with tables that are made once for each struct."""

    def __init__(self) -> None:
        self._checks: dict[StructSchema, _Check] = {}
        self._tables: dict[StructSchema, _Table] = {}
        self._lock = RLock()  # an unfinished table is only for the thread that makes it

    def findings(self, schema: StructSchema, value: Any, text: bytes = b"", path: Path = None) -> list[str]:
        """Return the unknown keys of `value`, and the repeated keys of its JSON `text`, in order.

        `path` is the place of the value. May raise RecursionError if the text has repeated keys.
        """
        if text and may_repeat(text, value):
            value = pairs_of(text)
        elif self._cover(schema, value):
            return []
        return _Findings().of(value, schema, path)

    def _cover(self, schema: StructSchema, value: dict[str, Any]) -> bool:
        """Report whether `schema` knows all keys of `value`, at every depth."""
        check = self._check(schema)
        try:
            check(value)
        except KeyError:
            return False
        return True

    def _check(self, schema: StructSchema) -> _Check:
        """Return a function that raises KeyError at the first unknown key."""
        with self._lock:
            found = self._checks.get(schema)
            if found is None:
                found = _struct(self._table(schema))
                self._checks[schema] = found
            return found

    def _table(self, schema: StructSchema) -> _Table:
        """Return the keys of a struct with the checks of their values; one that is being made is shared."""
        table = self._tables.get(schema)
        if table is None:
            types = TYPE_KEYS if schema.kind else ()
            table = self._tables[schema] = {} if schema.unknown is None else _Open()
            table.update(dict.fromkeys((*schema.keys, *types)))
            if isinstance(table, _Open):
                table.others = self._part(schema.unknown)
            table.update((key, self._part(field.node)) for key, field in schema.keys.items())
        return table

    def _part(self, node: Node | None) -> _Check | None:
        """Return the check of a value; None: it has no keys, or any."""
        if isinstance(node, StructSchema):
            return self._check(node)
        if isinstance(node, EitherSchema):
            return _either(self._check(node.schema))
        if isinstance(node, ListSchema) and isinstance(node.element, StructSchema):
            return _each(self._table(node.element))
        if isinstance(node, MapSchema):
            inner = self._part(node.value)
            return inner and _each_value(inner)
        return None


def _struct(table: _Table) -> _Check:
    def check(value: Any) -> None:
        for key in value:
            part = table[key]
            if part is not None and (item := value[key]):
                part(item)

    return check


def _each(table: _Table) -> _Check:
    def check_each(value: Any) -> None:
        # -20 % of the time on a 2 KiB pod: no call for each element.
        for element in value:
            for key in element or ():
                part = table[key]
                if part is not None and (item := element[key]):
                    part(item)

    return check_each


def _each_value(check: _Check) -> _Check:
    def check_each_value(value: Any) -> None:
        for item in value.values():
            if item:
                check(item)

    return check_each_value


def _either(check: _Check) -> _Check:
    def check_either(value: Any) -> None:
        for item in value if type(value) is list else (value,):
            if type(item) is dict:
                check(item)

    return check_either


def strict_error(findings: Iterable[str]) -> str:
    """Return the message of a rejection under Strict."""
    return "strict decoding error: " + ", ".join(findings)


class Pairs(list[tuple[str, Any]]):
    """A JSON object as the keys and values of its text, repeated ones too."""


def may_repeat(body: bytes, value: Any) -> bool:
    """Report whether a key may come twice in the JSON text `body`, which was parsed to `value`; False is certain.

    Each key has its colon; that of a repeated one is lost in the parser, while colons in strings are written back as
    they were, unless they were escaped: then the answer is True.
    """
    if b"\\" in body and (b"\\u003a" in body or b"\\u003A" in body):
        return True
    try:
        text = orjson.dumps(value)
        return body != text and body.count(b":") != text.count(b":")
    except orjson.JSONEncodeError:  # deeper than it writes, or a number too large for it
        return True


def repeated_keys(body: bytes, value: Any) -> list[str]:
    """Return the repeated keys of a JSON text that was parsed to `value`. May raise RecursionError."""
    return _Findings().of(pairs_of(body), None) if may_repeat(body, value) else []


def pairs_of(body: bytes) -> Any:
    """Return the JSON value of `body` with every object as `Pairs`."""
    return parse_pairs(body, Pairs)


class _Findings:
    """Collects the findings of one walk."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def of(self, value: Any, schema: StructSchema | None, path: Path = None) -> list[str]:
        self._walk(value, schema, path)
        return self._texts

    def _walk(self, value: Any, node: Node | None, path: Path) -> None:
        if len(self._texts) >= MAX_FINDINGS or isinstance(node, Scalar | NodeForm):
            return
        if isinstance(node, EitherSchema):
            node = ListSchema(node.schema) if type(value) is list else node.schema
        if type(value) is list:
            element = node.element if isinstance(node, ListSchema) else None
            if node is None or isinstance(element, StructSchema | ListSchema | MapSchema | EitherSchema):
                for index, item in enumerate(value):
                    self._walk(item, element, (path, f"[{index}]"))
        elif isinstance(value, Pairs | dict):
            self._object(value.items() if isinstance(value, dict) else value, node, path)

    def _object(self, items: Iterable[tuple[str, Any]], node: Node | None, path: Path) -> None:
        seen: set[str] = set()
        for key, item in items:
            place = (path, f".{key}")
            if isinstance(node, StructSchema) and not _knows(node, key):
                self._add("unknown", place)
                continue
            if key in seen:
                self._add("duplicate", place)
            seen.add(key)
            if isinstance(node, StructSchema):
                field = node.keys.get(key)
                self._walk(item, field.node if field is not None else node.unknown or NodeForm.ANY, place)
            elif node is None or isinstance(node, MapSchema):
                self._walk(item, node.value if isinstance(node, MapSchema) else None, place)

    def _add(self, what: str, place: Path) -> None:
        if len(self._texts) < MAX_FINDINGS:
            self._texts.append(f'{what} field "{_text(place)}"')


def unknown_field(path: Path) -> str:
    """Return the text for an unknown key."""
    return f'unknown field "{_text(path)}"'


def _knows(schema: StructSchema, key: str) -> bool:
    return key in schema.keys or schema.unknown is not None or (schema.kind != "" and key in TYPE_KEYS)


def _text(path: Path) -> str:
    """Return the text of a path, shortened if it is too long to show."""
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(step[: _SHOWN_CHARACTERS + 2])
    return shortened("".join(reversed(steps)).removeprefix("."), _SHOWN_CHARACTERS)

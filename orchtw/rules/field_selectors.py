"""Field selectors, and the values of selectable fields of an object (reference READ-20, READ-25).

A parsed field selector refers to the *stored* form: field names of other served versions are translated, so that
events match alike through both of their groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from orchtw.errors import BadRequest
from orchtw.values.causes import go_quote

Getter = Callable[[Mapping[str, Any]], str]

MAX_SELECTOR_CHARACTERS: Final = 32 * 1024
"""Size limit of a selector in a query: room for five hundred values of the maximum length."""

MAX_REQUIREMENTS: Final = 256
"""Most terms of a selector in a query: each is checked against every object of a list."""

_PARSED = 512  # parsed selectors kept in a cache
_LONGEST_KEPT = 512  # characters of a cached selector
_SIGN: Final = re.compile("!=|==|=").search
_GENERIC: Final = frozenset({"metadata.name", "metadata.namespace"})
_NOT_SUPPORTED: Final = "field label not supported: {}"


class FieldSelector(msgspec.Struct, frozen=True):
    """A conjunction of (field, equal?, value) terms; hashable."""

    terms: tuple[tuple[str, bool, str], ...] = ()

    @property
    def empty(self) -> bool:
        """Report whether the selector matches everything."""
        return not self.terms

    @property
    def equalities(self) -> tuple[tuple[str, str], ...]:
        """Return (field, value) pairs that every match has, for lookups in an index."""
        return tuple((field, value) for field, equal, value in self.terms if equal)

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the fields of the terms, each once, in order."""
        return tuple(dict.fromkeys(field for field, _, _ in self.terms))

    def exact(self, field: str) -> str:
        """Return the value that `field` must have, or "" without such a term."""
        return next((value for name, equal, value in self.terms if equal and name == field), "")

    def with_term(self, field: str, value: str) -> FieldSelector:
        """Return the selector with the additional term `field=value`."""
        return FieldSelector((*self.terms, (field, True, value)))

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Report whether every term holds for the values in `fields`; a missing field is empty."""
        for field, equal, value in self.terms:
            if (fields.get(field, "") == value) is not equal:
                return False
        return True

    def __str__(self) -> str:
        return ",".join(f"{field}{'=' if equal else '!='}{_escape(value)}" for field, equal, value in self.terms)


ALL_FIELDS: Final = FieldSelector()


def parse_fields(text: str, allowed: tuple[str, ...], *, custom: bool = False) -> FieldSelector:
    """Parse a selector for a kind whose selectable fields are `allowed`; empty text selects all.

    `allowed` is as in the kind's catalogue entry; a `custom` kind has no aliases of them. Raises BadRequest (400) for
    a malformed selector, or for a field that is not selectable, with the kind's message (reference READ-22).
    """
    if not text:
        return ALL_FIELDS
    check_length(text)
    if len(text) <= _LONGEST_KEPT:
        return _parse_kept(text, allowed, custom)
    return _resolve(_parse(text), allowed, custom)


def check_length(text: str) -> None:
    """Raise BadRequest (400) for a selector of more than MAX_SELECTOR_CHARACTERS."""
    if len(text) > MAX_SELECTOR_CHARACTERS:
        raise BadRequest(f"invalid selector: {len(text)} characters, at most {MAX_SELECTOR_CHARACTERS} are read")


@lru_cache(maxsize=_PARSED)
def _parse_kept(text: str, allowed: tuple[str, ...], custom: bool) -> FieldSelector:
    return _resolve(_parse(text), allowed, custom)


@lru_cache(maxsize=_PARSED)
def _parse_any_kept(text: str) -> FieldSelector:
    return _parse(text)


def exact_field(text: str, field: str) -> str:
    """Return the value that the selector `text` requires of `field`, or "". Raises BadRequest (400)."""
    check_length(text)
    return (_parse_any_kept(text) if len(text) <= _LONGEST_KEPT else _parse(text)).exact(field)


def field_terms(text: str) -> tuple[tuple[str, bool, str], ...]:
    """Return the terms (field, equal?, value) of a selector about any fields. Raises BadRequest (400)."""
    check_length(text)
    return (_parse_any_kept(text) if len(text) <= _LONGEST_KEPT else _parse(text)).terms


def _resolve(selector: FieldSelector, allowed: tuple[str, ...], custom: bool) -> FieldSelector:
    aliases = {} if custom else _aliases(allowed)
    terms = []
    for field, equal, value in selector.terms:
        stored = aliases.get(field, field if field in allowed else None)
        if stored is None:
            raise BadRequest(_NOT_SUPPORTED.format(field) if custom else _unsupported(field, allowed))
        terms.append((stored, equal, value))
    return FieldSelector(tuple(terms))


@lru_cache(maxsize=256)
def _aliases(allowed: tuple[str, ...]) -> dict[str, str]:
    """Return the stored fields by their aliases, for the kind whose selectable fields are `allowed`."""
    if "spec.nodeName" in allowed:
        return {"spec.host": "spec.nodeName"}
    if "regarding.kind" in allowed:
        regarding = (field for field in allowed if field.startswith("regarding."))
        out = {field: "involvedObject" + field.removeprefix("regarding") for field in regarding}
        return {**out, "reportingController": "source"}
    if _GENERIC.issuperset(allowed):
        return {field: field for field in _GENERIC}
    return {}


def _unsupported(field: str, allowed: tuple[str, ...]) -> str:
    """Return the error for an unsupported `field`, in the words of the kind that `allowed` belongs to."""
    if _GENERIC.issuperset(allowed):
        return f'{go_quote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"'
    if "status.successful" in allowed:
        return f"field label {go_quote(field)} not supported for batchv1.Job"
    return _NOT_SUPPORTED.format(field)


def _parse(text: str) -> FieldSelector:
    terms: list[tuple[str, bool, str]] = []
    for part in sorted(_split(text)):
        if part:
            if len(terms) == MAX_REQUIREMENTS:
                raise BadRequest(f"invalid selector: more than {MAX_REQUIREMENTS} terms")
            field, sign, value = _term(text, part)
            terms.append((field, sign != "!=", _unescape(value)))
    return FieldSelector(tuple(terms))


def _split(text: str) -> list[str]:
    """Split at commas that are not escaped by a backslash."""
    if "\\" not in text:
        return text.split(",")
    parts, start, escaped = [], 0, False
    for at, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == ",":
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _term(text: str, part: str) -> tuple[str, str, str]:
    if found := _SIGN(part):
        return part[: found.start()], found[0], part[found.end() :]
    raise BadRequest(f"invalid selector: '{text}'; can't understand '{part}'")


def _unescape(value: str) -> str:
    if "\\" not in value and "=" not in value:
        return value
    out: list[str] = []
    escaped = False
    for char in value:
        if escaped:
            if char not in "\\,=":
                raise BadRequest(f"invalid field selector: invalid escape sequence: \\{char}")
            out.append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in ",=":
            raise BadRequest(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            out.append(char)
    if escaped:
        raise BadRequest("invalid field selector: invalid escape sequence: \\")
    return "".join(out)


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


@lru_cache(maxsize=256)
def field_value(field: str) -> Getter:
    """Return a function that reads a selectable field of a canonical dict in the stored form, as text.

    An absent field is empty, or the zero of its type.
    """
    special = _SPECIAL.get(field)
    if special is not None:
        return special
    return _path_getter(tuple(field.split(".")), _ZEROS.get(field, ""))


@lru_cache(maxsize=256)
def custom_field_value(field: str) -> Getter:
    """Return a function that reads a selectable field of a custom object, as text; an absent field is empty."""
    return _path_getter(tuple(field.split(".")), "")


def field_paths(field: str) -> tuple[str, ...]:
    """Return the paths that `field_value` reads for a field."""
    return _READ.get(field, (field,))


def _path_getter(path: tuple[str, ...], zero: str) -> Getter:
    if len(path) == 2:  # most selectable fields: saves a loop per object in every list with a selector
        outer, inner = path

        def get_two(obj: Mapping[str, Any]) -> str:
            parent = obj.get(outer)
            value = parent.get(inner) if parent else None
            return value if type(value) is str else _text(value, zero)

        return get_two

    def get(obj: Mapping[str, Any]) -> str:
        value: Any = obj
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return _text(value, zero)

    return get


def _text(value: Any, zero: str) -> str:
    if value is None:
        return zero
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _event_source(obj: Mapping[str, Any]) -> str:
    component = (obj.get("source") or {}).get("component")
    return str(component or obj.get("reportingComponent") or "")


def _pod_ips(obj: Mapping[str, Any]) -> str:
    return ",".join(entry.get("ip", "") for entry in (obj.get("status") or {}).get("podIPs") or ())


# Values of numbers and booleans that the stored form omits.
_ZEROS: Final = {"spec.unschedulable": "false", "status.replicas": "0"}
_SPECIAL: Final[dict[str, Getter]] = {
    "source": _event_source,
    "status.podIPs": _pod_ips,
    "status.successful": _path_getter(("status", "succeeded"), "0"),
}
_READ: Final[dict[str, tuple[str, ...]]] = {
    "source": ("source.component", "reportingComponent"),
    "status.successful": ("status.succeeded",),
}
"""Paths of the fields that are not stored at the path of their name."""

"""Field selectors, and the text that an object shows at a selectable field (reference READ-20, READ-25).

A field selector speaks of the *stored* form: names that only another served version uses are translated when it is
parsed, so that events are matched alike through both of their groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

import attrs

from orchtw.errors import BadRequest
from orchtw.values.causes import go_quote

Getter = Callable[[Mapping[str, Any]], str]

MAX_SELECTOR_CHARACTERS: Final = 32 * 1024
"""Of a selector in a query: five hundred of the longest values."""

MAX_REQUIREMENTS: Final = 256
"""Terms of a selector in a query: every object of a list is held against each of them."""

_PARSED = 512  # selectors kept parsed
_LONGEST_KEPT = 512  # characters
_SIGN: Final = re.compile("!=|==|=").search
_GENERIC: Final = frozenset({"metadata.name", "metadata.namespace"})
_NOT_SUPPORTED: Final = "field label not supported: {}"


@attrs.frozen(slots=True)
class FieldSelector:
    """A conjunction of (field, equal?, value) terms; hashable."""

    terms: tuple[tuple[str, bool, str], ...] = ()

    @property
    def empty(self) -> bool:
        """Report whether the selector matches everything."""
        return not self.terms

    @property
    def equalities(self) -> tuple[tuple[str, str], ...]:
        """(field, value) pairs that every match has: what an index can be asked for."""
        return tuple((field, value) for field, equal, value in self.terms if equal)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields it looks at, each once, in order."""
        return tuple(dict.fromkeys(field for field, _, _ in self.terms))

    def exact(self, field: str) -> str:
        """The one value that `field` must have, or empty."""
        return next((value for name, equal, value in self.terms if equal and name == field), "")

    def with_term(self, field: str, value: str) -> FieldSelector:
        """The same, and `field` must be `value`."""
        return FieldSelector((*self.terms, (field, True, value)))

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Report whether every term holds for the texts in `fields`; a missing field is empty."""
        for field, equal, value in self.terms:
            if (fields.get(field, "") == value) is not equal:
                return False
        return True

    def __str__(self) -> str:
        return ",".join(f"{field}{'=' if equal else '!='}{_escape(value)}" for field, equal, value in self.terms)


ALL_FIELDS: Final = FieldSelector()


def parse_fields(text: str, allowed: tuple[str, ...], *, custom: bool = False) -> FieldSelector:
    """The selector that `text` writes for a kind whose selectable fields are `allowed`; empty text selects all.

    `allowed` is as in the kind's catalogue entry, in its served version's names; of a `custom` kind they are all that
    there is. Raises BadRequest (400): text that is no selector, or a field that is not selectable, in the words of
    the kind (reference READ-22).
    """
    if not text:
        return ALL_FIELDS
    check_length(text)
    if len(text) <= _LONGEST_KEPT:
        return _parse_kept(text, allowed, custom)
    return _resolve(_parse(text), allowed, custom)


def check_length(text: str) -> None:
    """Refuse (400) the selector of a query that is longer than any of use."""
    if len(text) > MAX_SELECTOR_CHARACTERS:
        raise BadRequest(f"invalid selector: {len(text)} characters, at most {MAX_SELECTOR_CHARACTERS} are read")


@lru_cache(maxsize=_PARSED)
def _parse_kept(text: str, allowed: tuple[str, ...], custom: bool) -> FieldSelector:
    return _resolve(_parse(text), allowed, custom)


@lru_cache(maxsize=_PARSED)
def _parse_any_kept(text: str) -> FieldSelector:
    return _parse(text)


def exact_field(text: str, field: str) -> str:
    """The one value that the selector `text` demands of `field`, or empty. Raises BadRequest (400)."""
    check_length(text)
    return (_parse_any_kept(text) if len(text) <= _LONGEST_KEPT else _parse(text)).exact(field)


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
    """Names that stand for another field, for the kind whose selectable fields are `allowed`."""
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
    """The refusal of `field`, in the words of the kind that `allowed` belongs to."""
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
    """The parts between commas that no backslash escapes."""
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
    """The reader of one selectable field: from a canonical dict in the stored form to its text, absent is empty."""
    special = _SPECIAL.get(field)
    if special is not None:
        return special
    return _path_getter(tuple(field.split(".")), _ZEROS.get(field, ""))


def field_paths(field: str) -> tuple[str, ...]:
    """Where in an object there is what `field_value` reads."""
    return _READ.get(field, (field,))


def _path_getter(path: tuple[str, ...], zero: str) -> Getter:
    if len(path) == 2:  # most selectable fields; saves the loop per object in every selective list
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


# Numbers and booleans show their zero when the stored form leaves them out.
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
"""The paths of what is not kept at the path that its name says."""

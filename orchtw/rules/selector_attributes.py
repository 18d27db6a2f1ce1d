"""Selectors of a request as access reviews carry them (reference AUTHZ-42, AUTHZ-43)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from orchtw.errors import StatusError
from orchtw.rules.field_selectors import FieldSelector, field_terms
from orchtw.rules.selectors import LabelSelector, Requirement, parse_labels
from orchtw.wire.objects import Object

_OPERATORS: Final[Mapping[str, str]] = {
    "in": "In",
    "=": "In",
    "==": "In",
    "notin": "NotIn",
    "!=": "NotIn",
    "exists": "Exists",
    "!": "DoesNotExist",
}
_FIELD_OPERATORS: Final[Mapping[str, bool]] = {"In": True, "NotIn": False}
_LABEL_OPERATORS: Final[Mapping[str, str]] = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_SIGNS: Final = frozenset("=!,\\")
"""Characters that a field in the text of a selector cannot have."""


def selector_attributes(field_selector: str, label_selector: str) -> Object:
    """Return the attributes of a review for two selectors; one that is empty or cannot be read is left out.

    Comparisons of numbers, which a review cannot have, are left out too: they select less, never more.
    """
    found: Object = {}
    for key, requirements in (("fieldSelector", _fields(field_selector)), ("labelSelector", _labels(label_selector))):
        if requirements:
            found[key] = {"requirements": requirements}
    return found


def _fields(text: str) -> list[Object]:
    try:
        terms = field_terms(text) if text else ()
    except StatusError:
        return []
    return [{"key": key, "operator": "In" if equal else "NotIn", "values": [value]} for key, equal, value in terms]


def _labels(text: str) -> list[Object]:
    try:
        requirements = parse_labels(text).requirements if text else ()
    except StatusError:
        return []
    return [
        {
            "key": each.key,
            "operator": _OPERATORS[each.operator],
            **({"values": sorted(each.values)} if each.values else {}),
        }
        for each in requirements
        if each.operator in _OPERATORS
    ]


def selector_texts(attributes: Object) -> tuple[str, str, list[str]]:
    """Return field and label selector of a review's resource attributes as texts, and what to tell of ignored ones.

    A requirement that has no text, such as one with an unknown operator, is ignored: the review is then about more
    objects, never fewer.
    """
    errors: list[str] = []

    def text(name: str, of: Callable[[Object], str], parse: Callable[[str], object]) -> str:
        selector = attributes.get(name) or {}
        parts = [of(each) for each in selector.get("requirements") or ()]
        found = ",".join(filter(None, parts)) or selector.get("rawSelector", "")
        try:
            parse(found)
        except StatusError:
            found = ""
        if not found and selector:
            errors.append(f"spec.resourceAttributes.{name} ignored due to parse error")
        elif "" in parts:
            errors.append(f"spec.resourceAttributes.{name} partially ignored due to parse error")
        return found

    fields = text("fieldSelector", _field_text, field_terms)
    return fields, text("labelSelector", _label_text, parse_labels), errors


def _field_text(requirement: Object) -> str:
    """Return a requirement as a term of a field selector; "" if there is no such term."""
    key = requirement.get("key", "")
    values: Sequence[str] = requirement.get("values") or ()
    equal = _FIELD_OPERATORS.get(requirement.get("operator", ""))
    if equal is None or len(values) != 1 or not _SIGNS.isdisjoint(key):
        return ""
    return str(FieldSelector(((key, equal, values[0]),)))


def _label_text(requirement: Object) -> str:
    """Return a requirement as a term of a label selector; "" if there is no such term."""
    operator = _LABEL_OPERATORS.get(requirement.get("operator", ""))
    if operator is None:
        return ""
    values = tuple(sorted(set(requirement.get("values") or ())))
    return str(LabelSelector((Requirement(requirement.get("key", ""), operator, values),)))

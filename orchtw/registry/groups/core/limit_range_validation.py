"""Limit ranges: bounds and defaults that fit each other (reference KIND-34)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.rules.resource_names import container_resource_name, may_overcommit, resource_name
from orchtw.schema.validation.problems import at
from orchtw.values.causes import duplicate, forbidden, invalid, required
from orchtw.values.names import qualified_name
from orchtw.values.quantity import Quantity, quantity
from orchtw.wire.objects import Object

_POD: Final = "Pod"
_CLAIM: Final = "PersistentVolumeClaim"
_TYPES: Final = (_POD, "Container", _CLAIM)
_LISTS: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_NOT_OF_PODS: Final = ("default", "defaultRequest")
_NO_STORAGE: Final = "either minimum or maximum storage value is required, but neither was provided"
_ONE: Final = Quantity(1, 0, "decimal")

_ORDER: Final = (
    ("min", "max", "min", "min value {} is greater than max value {}"),
    ("min", "defaultRequest", "defaultRequest", "min value {} is greater than default request value {}"),
    ("defaultRequest", "max", "defaultRequest", "default request value {} is greater than max value {}"),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min value {} is greater than default value {}"),
    ("default", "max", "default", "default value {} is greater than max value {}"),
)
"""Pairs of limits in order, the list in which a violation is reported, and its text."""


def validate_limit_range(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate all limits of a range; each type comes once."""
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, limits in enumerate(new["spec"].get("limits") or ()):
        path, kind = f"spec.limits[{index}]", limits.get("type", "")
        causes += [invalid(f"{path}.type", kind, text) for text in _type_texts(kind)]
        if kind in seen:
            causes.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
        causes += _check_limits(path, kind, limits, naming)
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _type_texts(kind: str) -> tuple[str, ...]:
    texts = qualified_name(kind)
    if not texts and "/" not in kind and kind not in _TYPES:
        return ("must be a standard limit type or fully qualified",)
    return texts


def _check_limits(path: str, kind: str, limits: Object, naming: Naming) -> list[Cause]:
    causes: list[Cause] = []
    lists: dict[str, Mapping[str, str]] = {name: limits.get(name) or {} for name in _LISTS}
    if kind == _POD:
        for name in _NOT_OF_PODS:
            if lists.pop(name):
                causes.append(forbidden(f"{path}.{name}", "may not be specified when `type` is 'Pod'"))
    for name, amounts in lists.items():
        causes += _check_names(f"{path}.{name}", kind, amounts, naming)
    if kind == _CLAIM and "storage" not in lists["min"] and "storage" not in lists["max"]:
        causes.append(required(f"{path}.limits", _NO_STORAGE))
    for resource in sorted({resource for amounts in lists.values() for resource in amounts}):
        causes += _check_amounts(path, resource, lists, naming)
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _check_names(path: str, kind: str, amounts: Mapping[str, str], naming: Naming) -> list[Cause]:
    causes: list[Cause] = []
    for name in amounts:
        of_containers = kind in (_POD, "Container")
        texts = container_resource_name(name, naming) if of_containers else resource_name(name)
        causes += [invalid(path + at(name), name, text) for text in texts]
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _check_amounts(path: str, resource: str, lists: Mapping[str, Mapping[str, str]], naming: Naming) -> list[Cause]:
    """Check that the lists agree on one resource."""
    texts = {name: amounts[resource] for name, amounts in lists.items() if resource in amounts}
    causes = []
    for less, more, place, text in _ORDER:
        if less in texts and more in texts and quantity(texts[less]).compare(quantity(texts[more])) > 0:
            shown = text.format(texts[less], texts[more])
            causes.append(invalid(f"{path}.{place}{at(resource)}", texts[place], shown))
    if "maxLimitRequestRatio" in texts:
        place = f"{path}.maxLimitRequestRatio{at(resource)}"
        ratio = texts["maxLimitRequestRatio"]
        causes += [invalid(place, ratio, text) for text in _ratio_texts(ratio, texts)]
    if {"default", "defaultRequest"} <= texts.keys() and not may_overcommit(resource, naming):
        limit, request = texts["default"], texts["defaultRequest"]
        if quantity(limit).compare(quantity(request)):
            text = f"default value {limit} must equal to defaultRequest value {request} in {resource}"
            causes.append(invalid(f"{path}.defaultRequest{at(resource)}", request, text))
    return causes


def _ratio_texts(text: str, texts: Mapping[str, str]) -> list[str]:
    ratio = quantity(text)
    found = [f"ratio {text} is less than 1"] if ratio.compare(_ONE) < 0 else []
    if "min" in texts and "max" in texts:
        limit = _approximately(texts["max"], texts["min"])
        if _as_float(ratio) > limit:
            found.append(f"ratio {text} is greater than max/min = {limit:f}")
    return found


def _approximately(text: str, divisor_text: str) -> float:
    divisor = _as_float(quantity(divisor_text))
    return _as_float(quantity(text)) / divisor if divisor else float("inf")


def _as_float(amount: Quantity) -> float:
    """Return the amount, or infinity if it is larger than any float."""
    return float(f"{amount.mantissa}e{amount.exponent}")

"""Attributes and capacities that drivers publish of devices (reference KIND-94)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.schema.validation.problems import at
from orchtw.values.causes import forbidden, invalid, required
from orchtw.values.device_names import own_attribute
from orchtw.values.quantity import Quantity, quantity
from orchtw.values.semantic_versions import order
from orchtw.wire.objects import Object

MAX_VALUES: Final = 32
"""Limit of the attributes and capacities of a device together."""
MAX_LISTED_VALUES: Final = 48
"""Limit of the values of a device's attributes, each element of a list counted."""

_NOT_A_VERSION: Final = "must be a string compatible with semver.org spec 2.0.0"
_ONE_POLICY: Final = (
    'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
)


def value_causes(device: Object, path: str) -> list[Cause]:
    """Return the causes that reject the attributes and capacities of a device."""
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    causes: list[Cause] = []
    if (count := len(attributes) + len(capacity)) > MAX_VALUES:
        text = f"the total number of attributes and capacities must not exceed {MAX_VALUES}"
        causes.append(invalid(path, count, text))
    values = sum(len(each) if isinstance(each, list) else 1 for one in attributes.values() for each in one.values())
    if values > MAX_LISTED_VALUES:
        text = f"the total number of attribute values must not exceed {MAX_LISTED_VALUES}"
        causes.append(invalid(f"{path}.attributes", values, text))
    for key, attribute in attributes.items():
        place = f"{path}.attributes{at(key)}"
        causes += _name_causes(key, place) + _attribute_causes(attribute, place)
        if len(causes) > MAX_CAUSES:
            return causes
    shared = bool(device.get("allowMultipleAllocations"))
    for key, amount in capacity.items():
        place = f"{path}.capacity{at(key)}"
        causes += _name_causes(key, place) + _policy_causes(amount, f"{place}.requestPolicy", shared=shared)
        if len(causes) > MAX_CAUSES:
            return causes
    return causes


def _name_causes(name: str, path: str) -> list[Cause]:
    return [invalid(path, name, text) for text in own_attribute(name)]


def _attribute_causes(attribute: Object, path: str) -> list[Cause]:
    given = {key: value for key, value in attribute.items() if value is not None}
    if not given:
        return [required(path, "exactly one value must be specified")]
    if len(given) > 1:
        return [invalid(path, attribute, "exactly one value must be specified")]
    causes: list[Cause] = []
    if (text := given.get("version")) is not None and order(text) is None:
        causes.append(invalid(f"{path}.version", text, _NOT_A_VERSION))
    for index, text in enumerate(given.get("versions") or ()):
        if order(text) is None:
            causes.append(invalid(f"{path}.versions[{index}]", text, _NOT_A_VERSION))
    return causes


def _policy_causes(amount: Object, path: str, *, shared: bool) -> list[Cause]:
    """Return the causes that reject the policy for requests of a capacity."""
    policy = amount.get("requestPolicy")
    if policy is None:
        return []
    if not shared:
        return [forbidden(path, "allowMultipleAllocations must be true")]
    values, between = policy.get("validValues") or [], policy.get("validRange")
    if values and between is not None:
        return [forbidden(path, _ONE_POLICY)]
    usual, most = policy.get("default"), quantity(amount.get("value") or "0")
    if usual is None:
        return [required(f"{path}.default")] if values or between is not None else []
    causes = _too_much(f"{path}.default", usual, most)
    if values:
        return causes + _values_causes(values, usual, path, most)
    return causes + (_range_causes(between, usual, f"{path}.validRange", path) if between is not None else [])


def _values_causes(values: list[str], usual: str, path: str, most: Quantity) -> list[Cause]:
    known = [quantity(each) for each in values]
    causes: list[Cause] = []
    for index, text in enumerate(values):
        causes += _too_much(f"{path}.validValues[{index}]", text, most)
        if index and known[index - 1].compare(known[index]) >= 0:
            causes.append(invalid(f"{path}.validValues[{index}]", text, "values must be in ascending order"))
    if all(each.compare(quantity(usual)) for each in known):
        causes.append(invalid(f"{path}.default", usual, "must be one of validValues"))
    return causes


def _range_causes(between: Object, usual: str, path: str, policy: str) -> list[Cause]:
    least, most = between.get("min"), between.get("max")
    if least is None:
        return [required(f"{path}.min")]
    causes: list[Cause] = []
    if quantity(least).mantissa < 0:
        causes.append(invalid(f"{path}.min", least, "must be greater than or equal to 0"))
    if most is not None and quantity(most).compare(quantity(least)) < 0:
        causes.append(invalid(f"{path}.max", most, f"max is less than min: {least}"))
    if quantity(usual).compare(quantity(least)) < 0:
        causes.append(invalid(f"{policy}.default", usual, f"default is less than min: {least}"))
    if most is not None and quantity(usual).compare(quantity(most)) > 0:
        causes.append(invalid(f"{policy}.default", usual, f"default is more than max: {most}"))
    return causes


def _too_much(path: str, text: Any, most: Quantity) -> list[Cause]:
    return [invalid(path, text, "must not be more than the capacity")] if quantity(text).compare(most) > 0 else []


def has_advanced_features(devices: Iterable[Object]) -> bool:
    """Report whether some device has taints or takes counters: then a slice has room for fewer devices."""
    return any(each.get("taints") or each.get("consumesCounters") for each in devices)

"""Validation of access reviews (reference AUTHZ-28, AUTHZ-43)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.rules.selectors import requirement_causes
from orchtw.values import names
from orchtw.values.causes import invalid, required
from orchtw.values.go_literals import METADATA, as_text, shown, struct
from orchtw.wire.objects import Object

_PATH = struct("authorization.NonResourceAttributes", Path=("path", as_text), Verb=("verb", as_text))
_WIPED = frozenset({"managedFields", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"})


def access_causes(review: Object, *, subject: bool) -> list[Cause]:
    """Return the causes that reject a review: no action or two, or no user or group where a `subject` is needed."""
    return _spec_causes(review["spec"], subject=subject) + _metadata_causes(review, "must be empty")


def local_access_causes(review: Object, namespace: str) -> list[Cause]:
    """Return the causes of a review about a resource in `namespace`, that of the request."""
    spec = review["spec"]
    causes = _spec_causes(spec, subject=True)
    causes += _metadata_causes(review, "must be empty except for namespace", "namespace")
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    own = review["metadata"].get("namespace") or namespace
    if resource is not None and resource.get("namespace", "") != own:
        asked = resource.get("namespace", "")
        causes.append(invalid("spec.resourceAttributes.namespace", asked, "must match metadata.namespace"))
    if path is not None:
        causes.append(_path_invalid(path, "disallowed on this kind of request"))
    return causes


def _spec_causes(spec: Object, *, subject: bool) -> list[Cause]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    causes = []
    if resource is not None and path is not None:
        causes.append(_path_invalid(path, "cannot be specified in combination with resourceAttributes"))
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        causes.append(invalid("spec.resourceAttributes", None, why))
    if subject and not spec.get("user") and not spec.get("groups"):
        causes.append(invalid("spec.user", "", "at least one of user or group must be specified"))
    for name, check in _SELECTORS:
        if resource is not None and (selector := resource.get(name)) is not None:
            causes += _selector_causes(selector, f"spec.resourceAttributes.{name}", check)
    return causes


def _selector_causes(selector: Object, field: str, check: Callable[[Object, str], list[Cause]]) -> list[Cause]:
    """Return the causes that reject a selector; `check` is applied to each of its requirements."""
    raw, requirements = selector.get("rawSelector", ""), selector.get("requirements") or ()
    causes = []
    if raw and requirements:
        causes.append(invalid(f"{field}.rawSelector", raw, "may not specified at the same time as requirements"))
    if not raw and not requirements:
        why = f"when {field} is specified, requirements or rawSelector is required"
        causes.append(required(f"{field}.requirements", why))
    for index, each in enumerate(requirements):
        if len(causes) > MAX_CAUSES:
            break
        causes += check(each, f"{field}.requirements[{index}]")
    return causes


def _field_causes(requirement: Object, field: str) -> list[Cause]:
    causes = [] if requirement.get("key") else [required(f"{field}.key", "must be specified")]
    return causes + requirement_causes(requirement, field, later_operators=True)


def _label_causes(requirement: Object, field: str) -> list[Cause]:
    causes = requirement_causes(requirement, field, later_operators=True)
    key = requirement.get("key", "")
    causes += [invalid(f"{field}.key", key, text) for text in names.qualified_name(key)]
    for index, value in enumerate(requirement.get("values") or ()):
        if len(causes) > MAX_CAUSES:
            break
        causes += [invalid(f"{field}.values[{index}]", value, text) for text in names.label_value(value)]
    return causes


_SELECTORS: Final = (("fieldSelector", _field_causes), ("labelSelector", _label_causes))


def _path_invalid(path: Object, why: str) -> Cause:
    return invalid("spec.nonResourceAttributes", shown(_PATH, path), why)


def _metadata_causes(review: Object, why: str, *allowed: str) -> list[Cause]:
    """Return the causes for metadata set on a review, except for fields that only servers set."""
    meta = review["metadata"]
    said = [key for key, value in meta.items() if value and key not in _WIPED and key not in allowed]
    return [invalid("metadata", shown(METADATA, meta), why)] if said else []

"""Validation of access reviews (reference AUTHZ-28)."""

from __future__ import annotations

from orchtw.errors import Cause
from orchtw.values.causes import invalid
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
    return causes


def _path_invalid(path: Object, why: str) -> Cause:
    return invalid("spec.nonResourceAttributes", shown(_PATH, path), why)


def _metadata_causes(review: Object, why: str, *allowed: str) -> list[Cause]:
    """Return the causes for metadata set on a review, except for fields that only servers set."""
    meta = review["metadata"]
    said = [key for key, value in meta.items() if value and key not in _WIPED and key not in allowed]
    return [invalid("metadata", shown(METADATA, meta), why)] if said else []

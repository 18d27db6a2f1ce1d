"""SubjectAccessReviews sent to a webhook, and its responses, in both versions (reference AUTHZ-34, AUTHZ-37)."""

from __future__ import annotations

from typing import Final

import orjson

from orchtw.authz.decision import ALLOWED, NO_OPINION, Decision
from orchtw.outbound.answers import answered, check_type, field
from orchtw.request import RequestInfo, UserInfo
from orchtw.rules.selector_attributes import selector_attributes
from orchtw.wire.objects import Object

KIND: Final = "SubjectAccessReview"
_GROUPS: Final = {"v1beta1": "group", "v1": "groups"}
"""JSON key of the groups in each version."""

_BOTH: Final = "webhook subject access review returned both allow and deny response"


def spec_of(user: UserInfo, info: RequestInfo, version: str, *, selectors: bool = False) -> Object:
    """Return the spec of a SubjectAccessReview, without empty fields; `selectors`: with those of the request."""
    spec: Object = {}
    if info.is_resource:
        attributes = {
            "namespace": info.namespace,
            "verb": info.verb,
            "group": info.group,
            "version": info.version,
            "resource": info.resource,
            "subresource": info.subresource,
            "name": info.name,
        }
        resource: Object = {name: value for name, value in attributes.items() if value}
        if selectors and (info.field_selector or info.label_selector):
            resource |= selector_attributes(info.field_selector, info.label_selector)
        spec["resourceAttributes"] = resource
    else:
        attributes = {"path": info.path, "verb": info.verb}
        spec["nonResourceAttributes"] = {name: value for name, value in attributes.items() if value}
    if user.name:
        spec["user"] = user.name
    if user.groups:
        spec[_GROUPS[version]] = user.groups
    if user.extra:
        spec["extra"] = dict(user.extra)
    if user.uid:
        spec["uid"] = user.uid
    return spec


def review(spec: Object, api_version: str) -> bytes:
    """Encode a review for sending."""
    meta = {"creationTimestamp": None}
    whole = {"kind": KIND, "apiVersion": api_version, "metadata": meta, "spec": spec, "status": {"allowed": False}}
    return orjson.dumps(whole)


def decision_of(answer: bytes, api_version: str) -> Decision:
    """Return the decision of a response. Raises BadResponse for one that is not a valid SubjectAccessReview."""
    whole = answered(answer)
    check_type(whole, KIND, api_version)
    status = field(whole, "status", dict, {})
    allowed, denied = field(status, "allowed", bool, False), field(status, "denied", bool, False)
    reason = field(status, "reason", str, "")
    if denied:
        return Decision(False, reason, _BOTH if allowed else "")
    if reason:
        return Decision(True if allowed else None, reason)
    return ALLOWED if allowed else NO_OPINION

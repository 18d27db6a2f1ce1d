"""What is asked about images, and what an answer says: ImageReviews (reference PLUG-50, PLUG-85)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
import orjson

from orchtw.objects import Object
from orchtw.rules.causes import go_quote

KIND: Final = "ImageReview"
_SHOWN: Final = 200


class BadAnswer(Exception):
    """An answer that is no ImageReview; the text says why."""


@attrs.frozen(slots=True, kw_only=True)
class Verdict:
    """What the backend says; `annotations` are for the audit log."""

    allowed: bool
    reason: str = ""
    annotations: Mapping[str, str] = attrs.field(factory=dict)


def question(images: Sequence[str], annotations: Mapping[str, str], namespace: str) -> Object:
    """The spec of a review. Empty members are left out."""
    spec: Object = {}
    if images:
        spec["containers"] = [{"image": image} if image else {} for image in images]
    if annotations:
        spec["annotations"] = dict(sorted(annotations.items()))
    if namespace:
        spec["namespace"] = namespace
    return spec


def review(spec: bytes, api_version: str) -> bytes:
    """The question as it is sent; `spec` is JSON."""
    head = orjson.dumps({"kind": KIND, "apiVersion": api_version, "metadata": {"creationTimestamp": None}})
    return b'%s,"spec":%s,"status":{"allowed":false}}' % (head[:-1], spec)


def verdict_of(answer: bytes, api_version: str) -> Verdict:
    """What an answer comes to. Raises BadAnswer for one that cannot be understood: it allows nothing."""
    try:
        whole = orjson.loads(answer)
    except ValueError:
        raise BadAnswer("the webhook's answer is not JSON") from None
    if not isinstance(whole, dict):
        raise BadAnswer("the webhook's answer is not an object")
    for name, expected in (("kind", KIND), ("apiVersion", api_version)):
        found = _field(whole, name, str, "")
        if found != expected:
            raise BadAnswer(f"the webhook's answer has {name} {go_quote(found[:_SHOWN])}, expected {expected}")
    status = _field(whole, "status", dict, {})
    annotations = _field(status, "auditAnnotations", dict, {})
    if not all(isinstance(value, str) for value in annotations.values()):
        raise BadAnswer("the webhook's answer has a wrong type of auditAnnotations")
    return Verdict(
        allowed=_field(status, "allowed", bool, False),
        reason=_field(status, "reason", str, ""),
        annotations=annotations,
    )


def _field(fields: dict[str, Any], name: str, kind: type, missing: Any) -> Any:
    value = fields.get(name)
    if value is None:
        return missing
    if not isinstance(value, kind):
        raise BadAnswer(f"the webhook's answer has a wrong type of {name}")
    return value

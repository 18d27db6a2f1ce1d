"""ImageReviews: requests and responses (reference PLUG-50, PLUG-85)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import orjson

from orchtw.outbound.answers import BadResponse, answered, check_type, field
from orchtw.wire.objects import Object

KIND: Final = "ImageReview"


class ImageVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """Verdict of the backend; `annotations` are for the audit log."""

    allowed: bool
    reason: str = ""
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)


def question(images: Sequence[str], annotations: Mapping[str, str], namespace: str) -> Object:
    """Return the spec of a review. Empty members are left out."""
    spec: Object = {}
    if images:
        spec["containers"] = [{"image": image} if image else {} for image in images]
    if annotations:
        spec["annotations"] = dict(sorted(annotations.items()))
    if namespace:
        spec["namespace"] = namespace
    return spec


def review(spec: bytes, api_version: str) -> bytes:
    """Encode a review; `spec` is the JSON of its spec."""
    head = orjson.dumps({"kind": KIND, "apiVersion": api_version, "metadata": {"creationTimestamp": None}})
    return b'%s,"spec":%s,"status":{"allowed":false}}' % (head[:-1], spec)


def verdict_of(answer: bytes, api_version: str) -> ImageVerdict:
    """Return the verdict in a response. Raises BadResponse for an invalid one."""
    whole = answered(answer)
    check_type(whole, KIND, api_version)
    status = field(whole, "status", dict, {})
    annotations = field(status, "auditAnnotations", dict, {})
    if not all(isinstance(value, str) for value in annotations.values()):
        raise BadResponse("the webhook's answer has auditAnnotations of the wrong type")
    return ImageVerdict(
        allowed=field(status, "allowed", bool, False),
        reason=field(status, "reason", str, ""),
        annotations=annotations,
    )

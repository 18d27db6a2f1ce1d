"""AdmissionReview requests to webhooks (reference HOOK-11, HOOK-12)."""

from __future__ import annotations

from typing import Any, Final

import orjson

from orchtw.admission.attributes import Attributes
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.declarations import GroupVersionKind
from orchtw.wire.objects import Object

GROUP: Final = "admission.orch.io"
KIND: Final = "AdmissionReview"
NULL: Final = b"null"


class Reviews:
    """Encoder of reviews in one vocabulary."""

    def __init__(self, naming: Naming) -> None:
        self.group = naming.group(GROUP)

    def api_version(self, version: str) -> str:
        """Return the apiVersion of reviews in a version."""
        return f"{self.group}/{version}"

    def body(
        self, version: str, uid: str, shown: Attributes, asked: Attributes, obj: bytes = NULL, old: bytes = NULL
    ) -> bytes:
        """Return the review of a write: `asked` as requested, `shown` through a resource that the webhook knows.

        `obj` and `old` are the JSON of its objects, copied as it is. Raises TypeError for strings that are not valid
        Unicode.
        """
        head = orjson.dumps({"kind": KIND, "apiVersion": self.api_version(version)})[:-1]
        begin = orjson.dumps(_request(uid, shown, asked))[:-1]
        dry_run = b"true" if asked.dry_run else b"false"
        options = orjson.dumps(asked.options)
        return b'%b,"request":%b,"object":%b,"oldObject":%b,"dryRun":%b,"options":%b}}' % (
            *(head, begin, obj, old),
            *(dry_run, options),
        )


def _request(uid: str, shown: Attributes, asked: Attributes) -> Object:
    """Return the members before the objects, in order."""
    subresource = asked.subresource
    found: Object = {"uid": uid, "kind": _kind(shown.kind), "resource": _resource(shown.resource)}
    if subresource:
        found["subResource"] = subresource
    found["requestKind"] = _kind(asked.kind)
    found["requestResource"] = _resource(asked.resource)
    if subresource:
        found["requestSubResource"] = subresource
    if asked.name:
        found["name"] = asked.name
    if asked.namespace:
        found["namespace"] = asked.namespace
    user = asked.user
    who: dict[str, Any] = {"username": user.name, "uid": user.uid, "groups": user.groups, "extra": user.extra}
    found["operation"] = asked.operation
    found["userInfo"] = {key: value for key, value in who.items() if value}
    return found


def _kind(kind: GroupVersionKind) -> Object:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: ResourceType) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}

"""Values of the variables of expressions about a write (reference POLICY-5)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from orchtw.admission.attributes import Attributes
from orchtw.admission.policies.rights import Rights
from orchtw.registry.stored import Stored
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.cel.admission import AUTHORIZED, NAMESPACE, OBJECT, OLD_OBJECT, OWN_RESOURCE, PARAMS, REQUEST
from orchtw.schema.declarations import GroupVersionKind
from orchtw.wire.objects import Object


def inputs(
    names: Collection[str], shown: Attributes, asked: Attributes, rights: Rights, namespaces: Stored
) -> dict[str, Any]:
    """Return the values of those variables that `names` has; parameters are null.

    `asked` is the write as requested, `shown` through a resource that a policy knows.
    """
    found: dict[str, Any] = {PARAMS: None}
    if OBJECT in names:
        found[OBJECT] = shown.obj
    if OLD_OBJECT in names:
        found[OLD_OBJECT] = shown.old
    if REQUEST in names:
        found[REQUEST] = _request(shown, asked)
    if NAMESPACE in names:
        found[NAMESPACE] = _namespace(asked, namespaces)
    if AUTHORIZED in names:
        found[AUTHORIZED] = rights.authorizer
    if OWN_RESOURCE in names:
        found[OWN_RESOURCE] = rights.own(shown)
    return found


def _namespace(asked: Attributes, namespaces: Stored) -> Object | None:
    """Return the namespace of an object in one; None for others, namespaces among them."""
    if not asked.namespace or not asked.resource.namespaced:
        return None
    entry = namespaces.get("", asked.namespace)
    return None if entry is None else namespaces.load(entry)


def _request(shown: Attributes, asked: Attributes) -> Object:
    """Return the request as webhooks get it, without identifier and objects; what is empty is left out."""
    user = asked.user
    who: Object = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra.items()},
    }
    texts = {
        "subResource": asked.subresource,
        "requestSubResource": asked.subresource,
        "name": asked.name,
        "namespace": asked.namespace,
    }
    found: Object = {
        "kind": _kind(shown.kind),
        "resource": _resource(shown.resource),
        "requestKind": _kind(asked.kind),
        "requestResource": _resource(asked.resource),
        **{key: text for key, text in texts.items() if text},
        "operation": asked.operation,
        "userInfo": {key: value for key, value in who.items() if value},
        "dryRun": asked.dry_run,
    }
    options = asked.options
    return found if options is None else {**found, "options": options}


def _kind(kind: GroupVersionKind) -> Object:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: ResourceType) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}

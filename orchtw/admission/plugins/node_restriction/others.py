"""Rules for writes of nodes to claims, service accounts, Leases and CSINodes (reference PLUG-44)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from orchtw.admission.attributes import Attributes
from orchtw.admission.plugins.node_restriction.records import PodRecord
from orchtw.errors import NotFound
from orchtw.registry.listers.lister import Lister
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

_FREE_META: Final = ("resourceVersion", "managedFields")
_FREE_STATUS: Final = ("capacity", "conditions")


def why_no_claim(attributes: Attributes, node: str) -> str:
    """Return why a node may not write a claim, or an empty string."""
    if attributes.subresource != "status":
        return "may only update PVC status"
    if attributes.operation != "UPDATE":
        return f"unexpected operation {go_quote(attributes.operation)}"
    changed = list(_changed(attributes.old or {}, attributes.obj or {}))
    if not changed:
        return ""
    allowed = "status.capacity and status.conditions"
    return f"node {go_quote(node)} is not allowed to update fields other than {allowed}: {', '.join(changed)}"


def _changed(old: Object, new: Object) -> Iterator[str]:
    """Yield the changed fields that a node may not change."""
    for part, free in (("metadata", _FREE_META), ("spec", ()), ("status", _FREE_STATUS)):
        before, after = old.get(part) or {}, new.get(part) or {}
        for name in dict.fromkeys((*before, *after)):
            if name not in free and (before.get(name) or None) != (after.get(name) or None):
                yield f"{part}.{name}"


async def why_no_token(attributes: Attributes, node: str, pods: Lister[PodRecord]) -> str:
    """Return why a node may not request a token, or an empty string. Raises NotFound (404) for a missing pod."""
    if attributes.operation != "CREATE" or attributes.subresource != "token":
        return ""
    bound: Object = ((attributes.obj or {}).get("spec") or {}).get("boundObjectRef") or {}
    name, uid = bound.get("name", ""), bound.get("uid", "")
    if bound.get("apiVersion") != "v1" or bound.get("kind") != "Pod" or not name:
        return "node requested token not bound to a pod"
    if not uid:
        return "node requested token with a pod binding without a uid"
    pod = await attributes.find(pods, attributes.namespace, name)
    if pod is None:
        raise NotFound.of("pods", "", name)
    if pod.uid != uid:
        return (
            f"the UID in the bound object reference ({uid}) does not match the UID in record ({pod.uid}). "
            "The object might have been deleted and then recreated"
        )
    return "" if pod.node == node else "node requested token bound to a pod scheduled on a different node"


def why_no_lease(attributes: Attributes, node: str, namespace: str) -> str:
    """Return why a node may not write a Lease, or an empty string."""
    if attributes.namespace != namespace:
        return f"can only access leases in the {go_quote(namespace)} system namespace"
    return _named_so(attributes, node, "node lease")


def why_no_csi_node(attributes: Attributes, node: str) -> str:
    """Return why a node may not write a CSINode, or an empty string."""
    return _named_so(attributes, node, "CSINode")


def _named_so(attributes: Attributes, node: str, what: str) -> str:
    name = attributes.name or ((attributes.obj or {}).get("metadata") or {}).get("name", "")
    return "" if name == node else f"can only access {what} with the same name as the requesting node"

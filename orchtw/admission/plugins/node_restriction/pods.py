"""Rules for writes of nodes to Pods (reference PLUG-42)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.admission.attributes import Attributes
from orchtw.admission.plugins.mountable_secrets import secret_names
from orchtw.admission.plugins.node_restriction.records import PodRecord
from orchtw.authz.node_references import CLAIMS, CONFIG_MAPS, of_pod
from orchtw.errors import NotFound
from orchtw.registry.listers.lister import Lister
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

_STATUS, _EVICTION = "status", "eviction"
_TO_ITSELF: Final = "with spec.nodeName set to itself"


class PodRules:
    """Rules for Pods: a node may only create mirror pods, which it already runs and which refer to nothing else."""

    def __init__(self, pods: Lister[PodRecord], node_uids: Lister[str], mirror: str) -> None:
        self._pods = pods
        self._node_uids = node_uids
        self._mirror = mirror

    async def why_not(self, attributes: Attributes, node: str) -> str:
        """Return why a node may not make this write, or an empty string.

        Raises NotFound (404) for a missing pod or node.
        """
        if attributes.subresource == _STATUS:
            return _status(attributes, node)
        if attributes.subresource == _EVICTION:
            return await self._eviction(attributes, node)
        if attributes.subresource:
            allowed = f"only '{_STATUS}' and '{_EVICTION}' are allowed"
            return f"unexpected pod subresource {go_quote(attributes.subresource)}, {allowed}"
        if attributes.operation == "CREATE":
            return await self._create(attributes, node)
        if attributes.operation == "DELETE":
            own = _node_of(attributes.old) == node
            return "" if own else f"node {go_quote(node)} can only delete pods {_TO_ITSELF}"
        operation = go_quote(attributes.operation)
        return f"unexpected operation {operation}, node {go_quote(node)} can only create and delete mirror pods"

    async def _create(self, attributes: Attributes, node: str) -> str:
        pod: Object = attributes.obj or {}
        meta, who = pod.get("metadata") or {}, f"node {go_quote(node)}"
        if self._mirror not in (meta.get("annotations") or {}):
            return f"pod does not have {go_quote(self._mirror)} annotation, {who} can only create mirror pods"
        if _node_of(pod) != node:
            return f"{who} can only create pods {_TO_ITSELF}"
        owners = meta.get("ownerReferences") or ()
        return await self._owner(attributes, owners, node) or _references(pod.get("spec") or {}, who)

    async def _owner(self, attributes: Attributes, owners: Sequence[Object], node: str) -> str:
        """Return why the owners of a mirror pod are wrong, or an empty string.

        The only one must be the node, as a controller that blocks nothing. Raises NotFound (404) for a missing node.
        """
        who = f"node {go_quote(node)}"
        if len(owners) > 1:
            return f"{who} can only create pods with a single owner reference set to itself"
        if not owners or [owners[0].get(key) for key in ("apiVersion", "kind", "name")] != ["v1", "Node", node]:
            return f"{who} can only create pods with an owner reference set to itself"
        if not owners[0].get("controller"):
            return f"{who} can only create pods with a controller owner reference set to itself"
        if owners[0].get("blockOwnerDeletion"):
            return f"{who} must not set blockOwnerDeletion on an owner reference"
        uid, given = await attributes.find(self._node_uids, "", node), owners[0].get("uid", "")
        if uid is None:
            raise NotFound.of("nodes", "", node)
        return "" if uid == given else f"node {node} UID mismatch: expected {given} got {uid}"

    async def _eviction(self, attributes: Attributes, node: str) -> str:
        if attributes.operation != "CREATE":
            return f"unexpected operation {attributes.operation}"
        name = attributes.name or ((attributes.obj or {}).get("metadata") or {}).get("name", "")
        if not name:
            return "could not determine pod from request data"
        found = await attributes.find(self._pods, attributes.namespace, name)
        if found is None:
            raise NotFound.of("pods", "", name)
        return "" if found.node == node else f"node {node} can only evict pods {_TO_ITSELF}"


def _status(attributes: Attributes, node: str) -> str:
    who = f"node {go_quote(node)}"
    if attributes.operation != "UPDATE":
        return f"unexpected operation {go_quote(attributes.operation)}"
    if _node_of(attributes.old) != node:
        return f"{who} can only update pod status for pods {_TO_ITSELF}"
    same = _labels(attributes.old) == _labels(attributes.obj)
    return "" if same else f"{who} cannot update labels through pod status"


def _references(spec: Object, who: str) -> str:
    if spec.get("serviceAccountName"):
        return f"{who} can not create pods that reference a service account"
    if next(secret_names(spec), None) is not None:
        return f"{who} can not create pods that reference secrets"
    found = {resource for resource, _, _ in of_pod({"metadata": {"namespace": "", "name": ""}, "spec": spec})}
    for resource in (CONFIG_MAPS, CLAIMS):
        if resource in found:
            return f"{who} can not create pods that reference {resource}"
    return ""


def _node_of(pod: Object | None) -> str:
    node: str = ((pod or {}).get("spec") or {}).get("nodeName", "")
    return node


def _labels(pod: Object | None) -> Object:
    labels: Object = ((pod or {}).get("metadata") or {}).get("labels") or {}
    return labels

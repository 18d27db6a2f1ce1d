"""OwnerReferencesPermissionEnforcement: rights that owner references need (reference PLUG-4, PLUG-83).

Changing ownerReferences needs the right to delete the object, and setting blockOwnerDeletion the right to update the
owner's finalizers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.authz.decision import Authorizer, Decision
from orchtw.registry.served_kinds import ServedKinds
from orchtw.request import RequestInfo
from orchtw.schema.catalogue import ResourceType
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

_NOTHING: Final = "<nil>"
_NO_MAPPING: Final = "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for"
_NO_FINALIZERS: Final = (
    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on"
)
MOST: Final = 100
"""Limit of references in one write that begin to block their owner's deletion: each needs an authorization."""

References = Sequence[Object]


class Kinds(Protocol):
    """Lookup of resources by apiVersion and kind."""

    def find(self, api_version: str, kind: str) -> Sequence[ResourceType]:
        """Return the resources of a kind."""


class OwnerReferencesPermissionEnforcement:
    """Plugin OwnerReferencesPermissionEnforcement; it ignores the status of pods, which cannot change owners."""

    def __init__(self, authorizer: Authorizer, kinds: Kinds) -> None:
        self._authorizer = authorizer
        self._kinds = kinds

    @classmethod
    def of(cls, host: AdmissionHost) -> OwnerReferencesPermissionEnforcement:
        """Return the plugin, backed by the server's authorizer."""
        return cls(host.authorizer, ServedKinds(host.targets))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates and updates of all kinds, except pod status."""
        return operation in ("CREATE", "UPDATE") and (resource.qualified, subresource) != ("pods", "status")

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) if the user lacks the rights that the new references need."""
        new, old = _owners(attributes.obj), _owners(attributes.old)
        if new == old:
            return
        if attributes.operation != "CREATE":
            await self._check_deletion(attributes)
        blocking = list(_newly_blocking(new, old))
        if len(blocking) > MOST:
            raise attributes.forbidden(f"at most {MOST} ownerReferences can set blockOwnerDeletion in one request")
        for reference in blocking:
            await self._check_finalizers(attributes, reference)

    async def _check_deletion(self, attributes: Attributes) -> None:
        resource = attributes.resource
        why = await self._refused(
            attributes, "delete", resource, attributes.subresource, attributes.namespace, attributes.name
        )
        if why:
            raise attributes.forbidden(f"cannot set an ownerRef on a resource you can't delete: {why}")

    async def _check_finalizers(self, attributes: Attributes, reference: Object) -> None:
        version, kind = reference.get("apiVersion", ""), reference.get("kind", "")
        found = self._kinds.find(version, kind)
        if not found:
            why = f"no matches for kind {go_quote(kind)} in version {go_quote(version)}"
            raise attributes.forbidden(f"{_NO_MAPPING} APIVersion {version} Kind {kind}: {why}")
        for owner in found:
            namespace = attributes.namespace if owner.namespaced else ""
            name = reference.get("name", "")
            why = await self._refused(attributes, "update", owner, "finalizers", namespace, name)
            if why:
                raise attributes.forbidden(f"{_NO_FINALIZERS}: {why}")

    async def _refused(
        self,
        attributes: Attributes,
        verb: str,
        resource: ResourceType,
        subresource: str,
        namespace: str,
        name: str,
    ) -> str:
        """Return why the user may not do this, as the authorizer's reason and error; empty if allowed."""
        asked = RequestInfo(
            is_resource=True,
            verb=verb,
            path="",
            group=resource.group,
            version=resource.version,
            resource=resource.plural,
            subresource=subresource,
            namespace=namespace,
            name=name,
        )
        decision = self._authorizer.authorize(attributes.user, asked)
        if not isinstance(decision, Decision):
            decision = await decision
        return "" if decision.allowed else f"{decision.reason}, {decision.error or _NOTHING}"


def _owners(obj: Object | None) -> References:
    owners: References = ((obj or {}).get("metadata") or {}).get("ownerReferences") or []
    return owners


def _newly_blocking(new: References, old: References) -> Iterator[Object]:
    """Return the references that block their owner's deletion, and did not before."""
    before = {each.get("uid"): each.get("blockOwnerDeletion") for each in old}
    return (each for each in new if each.get("blockOwnerDeletion") and not before.get(each.get("uid")))

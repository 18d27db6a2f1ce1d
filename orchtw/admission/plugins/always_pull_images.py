"""AlwaysPullImages: pulls every image anew, so that a cached private one needs credentials (reference PLUG-6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from orchtw.admission.attributes import Attributes, Operation
from orchtw.registry.emission_order import put
from orchtw.schema.catalogue import ResourceType
from orchtw.values import causes
from orchtw.wire.objects import Object

_ALWAYS: Final = "Always"
_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
_FROM_POLICY_ON: Final = ("imagePullPolicy", "securityContext", "stdin", "stdinOnce", "tty", "targetContainerName")


class AlwaysPullImages:
    """Plugin AlwaysPullImages; an update counts only if it brings an image that the pod did not have."""

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates and updates of Pods."""
        return operation in ("CREATE", "UPDATE") and not subresource and resource.qualified == "pods"

    async def admit(self, attributes: Attributes) -> None:
        """Set the imagePullPolicy of every container to Always."""
        pod = attributes.obj or {}
        if _keeps_images(attributes):
            return
        spec = pod.get("spec") or {}
        changed = {
            name: [_pulled(container) for container in spec[name]]
            for name in _LISTS
            if any(container.get("imagePullPolicy") != _ALWAYS for container in spec.get(name) or ())
        }
        if changed:
            attributes.fill({**pod, "spec": {**spec, **changed}})

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for another policy, which a later plugin may have set."""
        if _keeps_images(attributes):
            return
        texts = [
            str(causes.not_supported(f"{path}.imagePullPolicy", container.get("imagePullPolicy", ""), (_ALWAYS,)))
            for path, container in _containers(attributes.obj or {})
            if container.get("imagePullPolicy") != _ALWAYS
        ]
        if texts:
            raise attributes.forbidden(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")


def _keeps_images(attributes: Attributes) -> bool:
    if attributes.operation == "CREATE":
        return False
    before = {container.get("image") for _, container in _containers(attributes.old or {})}
    return all(container.get("image") in before for _, container in _containers(attributes.obj or {}))


def _containers(pod: Object) -> Iterator[tuple[str, Object]]:
    spec = pod.get("spec") or {}
    for name in _LISTS:
        for index, container in enumerate(spec.get(name) or ()):
            yield f"spec.{name}[{index}]", container


def _pulled(container: Object) -> Object:
    container = dict(container)
    put(container, "imagePullPolicy", _ALWAYS, _FROM_POLICY_ON)
    return container

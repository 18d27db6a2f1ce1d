"""Choice of a pod's container (reference PROXY-4)."""

from __future__ import annotations

from collections.abc import Iterator

from orchtw.errors import BadRequest
from orchtw.wire.objects import Object


def chosen_container(pod: Object, name: str) -> str:
    """Return the named container, or the only one. Raises BadRequest (400) if there is no such choice."""
    pod_name = pod["metadata"]["name"]
    if name:
        if name not in _names(pod):
            raise BadRequest(f"container {name} is not valid for pod {pod_name}")
        return name
    containers = pod["spec"].get("containers") or []
    if len(containers) == 1:
        return str(containers[0].get("name", ""))
    text = f"a container name must be specified for pod {pod_name}"
    if containers:
        text += f", choose one of: [{' '.join(_names(pod))}]"
    raise BadRequest(text)


def _names(pod: Object) -> Iterator[str]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in pod["spec"].get(kind) or ():
            yield str(container.get("name", ""))

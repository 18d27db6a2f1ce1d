"""Pod or pod template, as controls see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from orchtw.registry.groups.core.pod_annotations import AnnotationKeys
from orchtw.wire.objects import Object

NOTHING: Final[Object] = {}

Container = tuple[str, Object, Object]
"""Name of a container, the container itself, and its security context, which is empty if it has none."""


class Subject(msgspec.Struct, frozen=True):
    """Pod to check, with its own security context in `security`, empty if it has none.

    `containers` are those of all kinds. `keys` are the names of annotations.
    """

    annotations: Mapping[str, str]
    spec: Object
    security: Object
    containers: Sequence[Container]
    keys: AnnotationKeys


def subject(metadata: Object, spec: Object, keys: AnnotationKeys) -> Subject:
    """Return the subject of a pod's metadata and spec."""
    lists = (spec.get("initContainers"), spec.get("containers"), spec.get("ephemeralContainers"))
    containers = [
        (container["name"], container, container.get("securityContext") or NOTHING)
        for found in lists
        if found
        for container in found
    ]
    annotations = metadata.get("annotations") or NOTHING
    return Subject(annotations, spec, spec.get("securityContext") or NOTHING, containers, keys)

"""A pod, or what will be one, as controls look at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from orchtw.registry.groups.core.pod_annotations import AnnotationKeys
from orchtw.wire.objects import Object

NOTHING: Final[Object] = {}

Container = tuple[str, Object, Object]
"""The name, all of it, and its security context, which is empty if it has none."""


@attrs.frozen(slots=True)
class Subject:
    """`security` is the pod's own security context, empty if it has none; `containers` are those of all kinds.

    `keys` are the names of annotations.
    """

    annotations: Mapping[str, str]
    spec: Object
    security: Object
    containers: Sequence[Container]
    keys: AnnotationKeys


def subject(metadata: Object, spec: Object, keys: AnnotationKeys) -> Subject:
    """The pod with that metadata and spec."""
    lists = (spec.get("initContainers"), spec.get("containers"), spec.get("ephemeralContainers"))
    containers = [
        (container["name"], container, container.get("securityContext") or NOTHING)
        for found in lists
        if found
        for container in found
    ]
    annotations = metadata.get("annotations") or NOTHING
    return Subject(annotations, spec, spec.get("securityContext") or NOTHING, containers, keys)

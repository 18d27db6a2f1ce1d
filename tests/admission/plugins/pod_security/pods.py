"""Pods that keep to every standard, but for what a test changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchtw.wire.objects import Object

LISTS = ("initContainers", "containers", "ephemeralContainers")
SECURITY: Object = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def container(name: str, more: Mapping[str, Any] | None = None, **security: Any) -> Object:
    """A good container; None among `security` takes a field out, `more` are fields of the container."""
    fields = {key: value for key, value in {**SECURITY, **security}.items() if value is not None}
    return {"name": name, "image": "i", **({"securityContext": fields} if fields else {}), **(more or {})}


def good_pod(annotations: Mapping[str, str] | None = None, /, **spec: Any) -> Object:
    """A pod with a container `c`; lists of containers may be given instead."""
    metadata: Object = {"name": "p", "annotations": dict(annotations or {})}
    return {"metadata": metadata, "spec": {"containers": [container("c")], "securityContext": {}, **spec}}


def each_list(**security: Any) -> Object:
    """A pod with bad containers a (initContainers), b (containers) and c (ephemeralContainers)."""
    return good_pod(**{key: [container(name, **security)] for key, name in zip(LISTS, "abc", strict=True)})

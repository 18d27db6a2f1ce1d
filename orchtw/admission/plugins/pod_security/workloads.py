"""Pods and pod templates in objects (reference PLUG-36)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from orchtw.wire.objects import Object

PODS: Final = "pods"
Pod = tuple[Object, Object]
"""Metadata and spec of a pod."""


def _template(holder: Object) -> Pod | None:
    template = holder.get("template")
    return None if template is None else (template.get("metadata") or {}, template.get("spec") or {})


def _of_spec(obj: Object) -> Pod | None:
    return _template(obj.get("spec") or {})


def _of_cron_job(obj: Object) -> Pod | None:
    return _of_spec((obj.get("spec") or {}).get("jobTemplate") or {})


TEMPLATES: Final[Mapping[str, Callable[[Object], Pod | None]]] = {
    "podtemplates": _template,
    "replicationcontrollers": _of_spec,
    "replicasets.apps": _of_spec,
    "deployments.apps": _of_spec,
    "statefulsets.apps": _of_spec,
    "daemonsets.apps": _of_spec,
    "jobs.batch": _of_spec,
    "cronjobs.batch": _of_cron_job,
}
"""Functions that return the pod in the template of a resource's object, or None."""


def pod_in(resource: str, obj: Object) -> Pod | None:
    """Return the pod that an object of a resource is or creates; None: it has no template."""
    return (obj["metadata"], obj["spec"]) if resource == PODS else TEMPLATES[resource](obj)

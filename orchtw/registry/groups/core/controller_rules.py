"""Rules of all kinds with a pod template: selector, template, counts (reference KIND-28, KIND-60)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from orchtw.errors import MAX_CAUSES, BadRequest, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.pod_warnings import warnings_of
from orchtw.rules.selectors import LabelSelector, selector_of_object, validate_selector_object
from orchtw.values import names
from orchtw.values.causes import forbidden, invalid, not_supported
from orchtw.values.go_literals import SELECTOR, shown
from orchtw.wire.objects import Object

ALWAYS: Final = "Always"
_TEMPLATE = "spec.template"
_LABELS = f"{_TEMPLATE}.metadata.labels"
_MORE_THAN_ALL = "cannot be greater than status.replicas"
_REPLICA_COUNTS = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
_READ_ONLY = (
    "must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only"
)


def template_of(spec: Object) -> Object:
    """Return the pod template, or an empty one, which other rules report."""
    return spec.get("template") or {}


def labels_of(spec: Object) -> dict[str, str]:
    """Return the labels of the pods that the template makes."""
    return (template_of(spec).get("metadata") or {}).get("labels") or {}


def pod_spec_of(spec: Object) -> Object:
    """Return the spec of the pods that the template makes."""
    return template_of(spec).get("spec") or {}


def meaning(selector: Object | None) -> LabelSelector | None:
    """Return the meaning of a LabelSelector, None selecting nothing; None if it is malformed.

    Stricter than the rules of selectors: here the values of `In` and `NotIn` are label values.
    """
    if selector is not None:
        if validate_selector_object(selector, ""):
            return None
        values = (value for entry in selector.get("matchExpressions") or () for value in entry.get("values") or ())
        if any(names.label_value(value) for value in values):
            return None
    try:
        return selector_of_object(selector)
    except BadRequest:
        return None


def empty_selector_causes(spec: Object, word: str) -> list[Cause]:
    """Return the cause for a selector without requirements; `word` is the kind's name in texts."""
    selector = spec.get("selector")
    if selector is None or selector.get("matchLabels") or selector.get("matchExpressions"):
        return []
    return [invalid("spec.selector", shown(SELECTOR, selector), f"empty selector is invalid for {word}")]


def unselected_causes(spec: Object, selector: LabelSelector | None) -> list[Cause]:
    """Return the cause if the selector does not match the template's pods."""
    labels = labels_of(spec)
    if selector is None or selector.matches(labels):
        return []
    return [invalid(_LABELS, labels, "`selector` does not match template `labels`")]


def lasting_pod_causes(spec: Object, kind: str) -> list[Cause]:
    """Return the causes for a template of `kind` whose pods do not run for ever."""
    pod = pod_spec_of(spec)
    causes = []
    if (policy := pod.get("restartPolicy", "")) != ALWAYS:
        causes.append(not_supported(f"{_TEMPLATE}.spec.restartPolicy", policy, (ALWAYS,)))
    if pod.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        causes.append(forbidden(f"{_TEMPLATE}.spec.activeDeadlineSeconds", detail))
    return causes


def shared_disk_causes(spec: Object) -> list[Cause]:
    """Return the causes for writable disks in a template: several pods share each of its volumes."""
    causes: list[Cause] = []
    for index, volume in enumerate(pod_spec_of(spec).get("volumes") or ()):
        disk = volume.get("gcePersistentDisk")
        if disk is not None and not disk.get("readOnly"):
            field = f"{_TEMPLATE}.spec.volumes[{index}].gcePersistentDisk.readOnly"
            causes.append(invalid(field, False, _READ_ONLY))
            if len(causes) > MAX_CAUSES:
                break
    return causes


def warn_of_pods(new: Object, old: Object | None, naming: Naming) -> list[str]:
    """Return warnings about the template, in writes that make a new generation of its holder."""
    return warnings_of(template_of(new["spec"]), _TEMPLATE, naming) if is_new_generation(new, old) else []


def is_new_generation(new: Object, old: Object | None) -> bool:
    """Report whether a write creates an object, or changes what its generation counts."""
    return old is None or new["metadata"].get("generation") != old["metadata"].get("generation")


def count_causes(status: Object, parts: Iterable[str], ready: str) -> list[Cause]:
    """Return the causes for `parts` above all replicas, and for more available than ready, with the text `ready`."""
    replicas = status.get("replicas") or 0
    causes = [
        invalid(f"status.{key}", count, _MORE_THAN_ALL) for key in parts if (count := status.get(key) or 0) > replicas
    ]
    if (available := status.get("availableReplicas") or 0) > (status.get("readyReplicas") or 0):
        causes.append(invalid("status.availableReplicas", available, ready))
    return causes


def validate_replica_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate that the replica counts of a status fit each other."""
    return count_causes(new.get("status") or {}, _REPLICA_COUNTS, "cannot be greater than readyReplicas")


def collision_causes(new: Object, old: Object) -> list[Cause]:
    """Return the cause if a count of collisions falls or vanishes."""
    before, count = old.get("collisionCount"), new.get("collisionCount")
    if before is None or (count is not None and count >= before):
        return []
    return [invalid("status.collisionCount", count or 0, "cannot be decremented")]

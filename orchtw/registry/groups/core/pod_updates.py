"""Allowed changes in the spec of an existing pod (reference KIND-11, KIND-45)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.registry.groups.core.newer_pods import gate_update_causes
from orchtw.registry.groups.core.pod_directives import directive_causes
from orchtw.values.causes import forbidden, go_quote, go_value, invalid, required
from orchtw.wire.objects import Object

_IMAGES: Final = ("containers", "initContainers")
_LARGEST_DEADLINE_S: Final = (1 << 31) - 1
_FIXED: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, "
    "`spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing tolerations) or "
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_MAX_SHOWN: Final = 8  # fields that a refusal compares


def spec_update_causes(new: Object, old: Object) -> list[Cause]:
    """Return the causes against a change of the spec `old` to `new`; a serious one ends the search."""
    if new == old:
        return []
    causes: list[Cause] = []
    for key in _IMAGES:
        after, before = new.get(key) or (), old.get(key) or ()
        if len(after) != len(before):
            text = "pod updates may not add or remove containers"
            return [*causes, forbidden(f"spec.{key}", text)]
        causes += _images(after, before, f"spec.{key}")
    deadline, stop = _deadline(new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds"))
    causes += deadline
    if stop:
        return causes
    causes += _tolerations(new.get("tolerations") or (), old.get("tolerations") or ())
    if "schedulingGates" in new or "schedulingGates" in old:
        causes += gate_update_causes(new, old)
        new = {**new, "schedulingGates": old.get("schedulingGates")}
        if old.get("schedulingGates"):
            found, new = directive_causes(new, old)
            causes += found
    if different := list(different_keys(new, old)):
        causes.append(forbidden("spec", f"{_FIXED}\n{shown_changes(new, old, different)}"))
    return causes


def _images(after: Sequence[Object], before: Sequence[Object], place: str) -> list[Cause]:
    causes: list[Cause] = []
    for index, (container, stored) in enumerate(zip(after, before, strict=True)):
        if len(causes) > MAX_CAUSES:
            break
        image = container.get("image", "")
        if image == stored.get("image", ""):
            continue
        if not image:
            causes.append(required(f"{place}[{index}].image"))
        elif image != image.strip():
            text = "must not have leading or trailing whitespace"
            causes.append(invalid(f"{place}[{index}].image", image, text))
    return causes


def ephemeral_update_causes(new: Object, old: Object) -> list[Cause]:
    """Return the causes against a change of ephemeral containers: they can only be added."""
    place = "spec.ephemeralContainers"
    now = {container.get("name"): container for container in new.get("ephemeralContainers") or ()}
    causes: list[Cause] = []
    for container in old.get("ephemeralContainers") or ():
        name = container.get("name", "")
        if len(causes) > MAX_CAUSES:
            break
        if name not in now:
            causes.append(forbidden(place, f"existing ephemeral containers {go_quote(name)} may not be removed"))
        elif now[name] != container:
            causes.append(forbidden(place, f"existing ephemeral containers {go_quote(name)} may not be changed"))
    return causes


def _deadline(after: int | None, before: int | None) -> tuple[list[Cause], bool]:
    """Return the causes that reject the deadline, and whether further checks are skipped."""
    place = "spec.activeDeadlineSeconds"
    if after is None:
        text = "must not update from a positive integer to nil value"
        return ([] if before is None else [invalid(place, None, text)]), False
    if not 0 <= after <= _LARGEST_DEADLINE_S:
        text = f"must be between 0 and {_LARGEST_DEADLINE_S}, inclusive"
        return [invalid(place, after, text)], True
    if before is not None and before < after:
        return [invalid(place, after, "must be less than or equal to previous value")], True
    return [], False


def _tolerations(after: Sequence[Object], before: Sequence[Object]) -> list[Cause]:
    if set(map(_tolerated, before)) <= set(map(_tolerated, after)):
        return []
    return [forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")]


def _tolerated(toleration: Object) -> tuple[Any, ...]:
    get = toleration.get
    return get("key"), get("operator"), get("value"), get("effect")


def different_keys(new: Object, old: Object) -> Iterator[str]:
    """Yield the fields that differ, except those that may."""
    for key in dict.fromkeys((*old, *new)):
        after, before = new.get(key), old.get(key)
        if after == before or key in ("activeDeadlineSeconds", "tolerations"):
            continue
        if key in _IMAGES and list(map(_but_image, after or ())) == list(map(_but_image, before or ())):
            continue
        if key == "terminationGracePeriodSeconds" and after == 1 and before is not None and before < 0:
            continue
        yield key


def _but_image(container: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in container.items() if key != "image"}


def shown_changes(new: Object, old: Object, keys: Sequence[str]) -> str:
    """Return the lines that compare some keys of two specs."""
    lines = []
    for key in keys[:_MAX_SHOWN]:
        lines += [f"- {key}: {go_value(old.get(key))}", f"+ {key}: {go_value(new.get(key))}"]
    return "\n".join(lines if len(keys) <= _MAX_SHOWN else [*lines, "..."])

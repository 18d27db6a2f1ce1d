"""Seccomp profiles: as fields, and as the older annotations (reference KIND-38)."""

from __future__ import annotations

from typing import Final

from orchtw.errors import Cause
from orchtw.registry.emission_order import put
from orchtw.values.causes import forbidden, invalid
from orchtw.values.file_paths import descending_path
from orchtw.wire.objects import Object

UNCONFINED: Final = "unconfined"
DEFAULT: Final = "runtime/default"
OLD_DEFAULT: Final = "docker/default"
LOCAL: Final = "localhost/"
_TYPES: Final = {UNCONFINED: "Unconfined", DEFAULT: "RuntimeDefault", OLD_DEFAULT: "RuntimeDefault"}
_TYPE_DIFFERS: Final = "seccomp type in annotation and field must match"
_PROFILE_DIFFERS: Final = "seccomp profile in annotation and field must match"
# What may come behind it in a container; a pod spec always has one.
_CONTAINER_TAIL: Final = ("securityContext", "stdin", "stdinOnce", "tty", "targetContainerName")


def profile_causes(profile: str, place: str) -> list[Cause]:
    """Return the causes that reject the profile that the annotation at `place` names."""
    if profile in _TYPES:
        return []
    if profile.startswith(LOCAL):
        return [invalid(place, profile, text) for text in descending_path(profile.removeprefix(LOCAL))]
    return [invalid(place, profile, "must be a valid seccomp profile")]


def field_of(holder: Object) -> Object | None:
    """Return the profile of a pod spec or container."""
    return (holder.get("securityContext") or {}).get("seccompProfile")


def agreement_causes(annotation: str | None, holder: Object, place: str) -> list[Cause]:
    """Return the causes where the field of a pod spec or container at `place` contradicts its annotation."""
    field = field_of(holder)
    if annotation is None or field is None:
        return []
    at, kind = f"{place}.securityContext.seccompProfile", field.get("type")
    if kind == "Localhost":
        if not annotation.startswith(LOCAL):
            return [forbidden(f"{at}.type", _TYPE_DIFFERS)]
        same = annotation.removeprefix(LOCAL) == field.get("localhostProfile")
        return [] if same else [forbidden(f"{at}.localhostProfile", _PROFILE_DIFFERS)]
    known = kind in _TYPES.values()
    return [forbidden(f"{at}.type", _TYPE_DIFFERS)] if known and _TYPES.get(annotation) != kind else []


def annotation_for(field: Object) -> str:
    """Return the annotation that matches a field; empty: there is none."""
    kind, profile = field.get("type"), field.get("localhostProfile")
    if kind == "Localhost":
        return "" if profile is None else LOCAL + profile
    return {"Unconfined": UNCONFINED, "RuntimeDefault": DEFAULT}.get(str(kind), "")


def set_field(holder: Object, annotation: str) -> None:
    """Set the field of a pod spec or container from the annotation; an invalid one changes nothing."""
    field: Object = {"type": _TYPES.get(annotation, "Localhost")}
    if annotation not in _TYPES:
        if not annotation.startswith(LOCAL) or annotation == LOCAL:
            return
        field["localhostProfile"] = annotation.removeprefix(LOCAL)
    security = {**(holder.get("securityContext") or {}), "seccompProfile": field}
    if "securityContext" in holder:
        holder["securityContext"] = security
    else:
        put(holder, "securityContext", security, _CONTAINER_TAIL)

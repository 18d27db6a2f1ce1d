"""Custom resource definitions."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.defaults.places import put

_NAMES_TAIL = ("singular", "shortNames", "kind", "listKind", "categories")


def fill_definition(definition: Object) -> None:
    """A custom resource's names that follow from its kind, and the version that it is stored in."""
    names = definition["spec"]["names"]
    kind = names["kind"]
    if kind:
        if "singular" not in names:
            put(names, "singular", kind.lower(), _NAMES_TAIL)
        if "listKind" not in names:
            put(names, "listKind", f"{kind}List", _NAMES_TAIL)
    fill_stored_versions(definition)


def fill_stored_versions(definition: Object) -> None:
    """status.storedVersions of a definition that never was stored."""
    if not definition["status"]["storedVersions"]:
        storing = [each["name"] for each in definition["spec"]["versions"] or () if each["storage"]]
        if storing:
            definition["status"]["storedVersions"] = storing[:1]

"""Custom resource definitions."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.emission_order import put
from orchtw.registry.kind import Kind
from orchtw.registry.strategy import Strategy
from orchtw.registry.traits import SPEC

_NAMES_TAIL = ("singular", "shortNames", "kind", "listKind", "categories")


def set_definition_defaults(definition: Object) -> None:
    """A custom resource's names that follow from its kind, and the version that it is stored in."""
    names = definition["spec"]["names"]
    kind = names["kind"]
    if kind:
        if "singular" not in names:
            put(names, "singular", kind.lower(), _NAMES_TAIL)
        if "listKind" not in names:
            put(names, "listKind", f"{kind}List", _NAMES_TAIL)
    set_stored_versions(definition)


def set_stored_versions(definition: Object) -> None:
    """status.storedVersions of a definition that never was stored."""
    if not definition["status"]["storedVersions"]:
        storing = [each["name"] for each in definition["spec"]["versions"] or () if each["storage"]]
        if storing:
            definition["status"]["storedVersions"] = storing[:1]


class DefinitionStrategy(Strategy):
    """A new definition's status says at once which version its objects are stored in (reference CRD-6)."""

    def reset_status(self, obj: Object) -> None:
        super().reset_status(obj)
        set_stored_versions(obj)


CUSTOM_RESOURCE_DEFINITION = Kind(
    group="apiextensions.orch.io",
    kind="CustomResourceDefinition",
    strategy=DefinitionStrategy,
    generation=SPEC,
    unconditional_update=False,
    status_ignores=("spec", "metadata"),
    free_finalizers=True,
    set_defaults=set_definition_defaults,
)

KINDS = (CUSTOM_RESOURCE_DEFINITION,)

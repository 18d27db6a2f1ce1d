"""Admission plugin CreatedBy: every new object of some resources says in an annotation who made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.configuration import Given
from orchtw.admission.host import AdmissionHost
from orchtw.flags.flag import LIST, Flag
from orchtw.plugins import AdmissionPlugin
from orchtw.schema.catalogue import ResourceType

ANNOTATION = "example.com/created-by"


class CreatedBy:
    """Sets the annotation on creation, and refuses updates that change it."""

    def __init__(self, resources: tuple[str, ...]) -> None:
        self._resources = frozenset(resources)

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Select creates and updates of the resources that the flag names."""
        return not subresource and operation in ("CREATE", "UPDATE") and resource.qualified in self._resources

    async def admit(self, attributes: Attributes) -> None:
        """Set the annotation of a new object."""
        if attributes.operation == "CREATE":
            obj = await attributes.edit()
            obj["metadata"].setdefault("annotations", {})[ANNOTATION] = attributes.user.name

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for an update that changes the annotation."""
        if attributes.operation == "UPDATE" and _creator(attributes.obj) != _creator(attributes.old):
            raise attributes.forbidden(f"annotation {ANNOTATION} is immutable")


def _creator(obj: object) -> str | None:
    metadata = obj.get("metadata", {}) if isinstance(obj, dict) else {}
    creator: str | None = metadata.get("annotations", {}).get(ANNOTATION)
    return creator


def make(host: AdmissionHost, values: Mapping[str, Any], given: Given | None) -> CreatedBy:
    """Return the plugin for the resources of `--created-by-resources`."""
    return CreatedBy(values["created-by-resources"])


CREATED_BY = AdmissionPlugin(
    make=make,
    after="NamespaceLifecycle",
    flags=(
        Flag(
            name="created-by-resources",
            kind=LIST,
            default=("configmaps",),
            help=f"Resources (plural.group) whose new objects get the annotation {ANNOTATION}.",
            section="CreatedBy",
        ),
    ),
)

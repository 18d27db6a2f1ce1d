"""Names that claims, volumes and classes have in a vocabulary."""

from __future__ import annotations

from typing import Final

import msgspec

from orchtw.naming.naming import Naming
from orchtw.wire.objects import Object

PROVISIONER: Final = "simulate.orch.io/volumes"
"""Provisioner of the simulation, in both vocabularies."""
DRIVER: Final = "simulate.orch.io"
DEFAULT_CLASS: Final = "simulated"
DELAYED: Final = "WaitForFirstConsumer"


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """Annotations of one vocabulary."""

    bind_completed: str
    bound_by_controller: str
    provisioned_by: str
    selected_node: str
    older_class: str
    provisioner: tuple[str, str]
    no_provisioner: str
    default_class: str

    @classmethod
    def of(cls, naming: Naming) -> Names:
        """Return the names of a vocabulary."""
        translate = naming.translate
        return cls(
            bind_completed=translate("pv.orch.io/bind-completed"),
            bound_by_controller=translate("pv.orch.io/bound-by-controller"),
            provisioned_by=translate("pv.orch.io/provisioned-by"),
            selected_node=translate("volume.orch.io/selected-node"),
            older_class=translate("volume.beta.orch.io/storage-class"),
            provisioner=(
                translate("volume.beta.orch.io/storage-provisioner"), translate("volume.orch.io/storage-provisioner"),
            ),
            no_provisioner=translate("orch.io/no-provisioner"),
            default_class=translate("storageclass.orch.io/is-default-class"),
        )  # fmt: skip

    def class_of(self, obj: Object) -> str:
        """Return the name of the class of a claim or volume; empty if it has none."""
        older = annotations_of(obj).get(self.older_class)
        name: str = older or obj["spec"].get("storageClassName") or ""
        return name


def annotations_of(obj: Object) -> dict[str, str]:
    """Return the annotations of an object."""
    return obj["metadata"].get("annotations") or {}

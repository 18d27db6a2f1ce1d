"""Classes and drivers of storage, and what of it is attached where."""

from __future__ import annotations

from orchtw.registry.kind import Kind
from orchtw.registry.traits import SPEC
from orchtw.rules.names import SUBDOMAIN_NAME
from orchtw.schema.tables import cells_cluster

_GROUP = "storage.orch.io"

STORAGE_CLASS = Kind(group=_GROUP, kind="StorageClass", cells=cells_cluster.storage_class)
VOLUME_ATTACHMENT = Kind(
    group=_GROUP,
    kind="VolumeAttachment",
    unconditional_update=False,
    status_ignores=("spec", "metadata"),
    cells=cells_cluster.volume_attachment,
)
CSI_DRIVER = Kind(
    group=_GROUP,
    kind="CSIDriver",
    generation=SPEC,
    unconditional_update=False,
    name_form=SUBDOMAIN_NAME.shorter(63),
    cells=cells_cluster.csi_driver,
)
CSI_NODE = Kind(group=_GROUP, kind="CSINode", unconditional_update=False, cells=cells_cluster.csi_node)
CSI_STORAGE_CAPACITY = Kind(
    group=_GROUP, kind="CSIStorageCapacity", unconditional_update=False, cells=cells_cluster.csi_capacity
)

KINDS = (CSI_DRIVER, CSI_NODE, CSI_STORAGE_CAPACITY, STORAGE_CLASS, VOLUME_ATTACHMENT)

"""Kinds of group storage: classes, drivers, attachments and capacities."""

from __future__ import annotations

from orchtw.registry.groups.storage.attachments import VOLUME_ATTACHMENT
from orchtw.registry.groups.storage.attribute_classes import VOLUME_ATTRIBUTES_CLASS
from orchtw.registry.groups.storage.capacities import CSI_STORAGE_CAPACITY
from orchtw.registry.groups.storage.classes import STORAGE_CLASS
from orchtw.registry.groups.storage.drivers import CSI_DRIVER
from orchtw.registry.groups.storage.nodes import CSI_NODE

KINDS = (
    *(CSI_DRIVER, CSI_NODE, CSI_STORAGE_CAPACITY, STORAGE_CLASS, VOLUME_ATTACHMENT),
    VOLUME_ATTRIBUTES_CLASS,
)

"""Kinds of group resource: classes, claims and slices of devices."""

from __future__ import annotations

from orchtw.registry.groups.resource.claims import RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE
from orchtw.registry.groups.resource.devices import DEVICE_CLASS, RESOURCE_SLICE
from orchtw.registry.groups.resource.pools import DEVICE_TAINT_RULE, RESOURCE_POOL_STATUS_REQUEST

KINDS = (
    DEVICE_CLASS,
    DEVICE_TAINT_RULE,
    RESOURCE_CLAIM,
    RESOURCE_CLAIM_TEMPLATE,
    RESOURCE_POOL_STATUS_REQUEST,
    RESOURCE_SLICE,
)

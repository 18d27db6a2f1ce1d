"""Kinds of the core group."""

from __future__ import annotations

from orchtw.registry.groups.core.configuration import CONFIG_MAP, SERVICE_ACCOUNT
from orchtw.registry.groups.core.controllers import REPLICATION_CONTROLLER
from orchtw.registry.groups.core.endpoints import ENDPOINTS
from orchtw.registry.groups.core.events import EVENT
from orchtw.registry.groups.core.limits import LIMIT_RANGE, RESOURCE_QUOTA
from orchtw.registry.groups.core.namespaces import NAMESPACE
from orchtw.registry.groups.core.nodes import NODE
from orchtw.registry.groups.core.pod_templates import POD_TEMPLATE
from orchtw.registry.groups.core.pods import POD
from orchtw.registry.groups.core.secrets import SECRET
from orchtw.registry.groups.core.services import SERVICE
from orchtw.registry.groups.core.volumes import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM

KINDS = (
    *(CONFIG_MAP, ENDPOINTS, EVENT, LIMIT_RANGE, NAMESPACE, NODE, PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, POD),
    *(POD_TEMPLATE, REPLICATION_CONTROLLER, RESOURCE_QUOTA, SECRET, SERVICE, SERVICE_ACCOUNT),
)

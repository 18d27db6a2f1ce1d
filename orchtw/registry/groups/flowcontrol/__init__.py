"""Flow schemas and priority levels."""

from __future__ import annotations

from orchtw.registry.groups.flowcontrol.flow_schemas import FLOW_SCHEMA
from orchtw.registry.groups.flowcontrol.priority_levels import PRIORITY_LEVEL_CONFIGURATION

KINDS = (FLOW_SCHEMA, PRIORITY_LEVEL_CONFIGURATION)

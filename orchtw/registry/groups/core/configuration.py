"""Configuration and accounts, which have no rules of their own."""

from __future__ import annotations

from orchtw.registry.kind import Kind
from orchtw.schema.tables import cells_core

CONFIG_MAP = Kind(group="", kind="ConfigMap", cells=cells_core.config_map)
SERVICE_ACCOUNT = Kind(group="", kind="ServiceAccount", cells=cells_core.service_account)

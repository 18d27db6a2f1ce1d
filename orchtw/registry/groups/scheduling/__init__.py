"""Kinds of group scheduling."""

from __future__ import annotations

from orchtw.registry.groups.scheduling.pod_groups import POD_GROUP, WORKLOAD
from orchtw.registry.groups.scheduling.priority_classes import PRIORITY_CLASS

KINDS = (POD_GROUP, PRIORITY_CLASS, WORKLOAD)

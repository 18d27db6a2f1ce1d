"""Kinds of group autoscaling: horizontal pod autoscalers."""

from __future__ import annotations

from orchtw.registry.groups.autoscaling.autoscalers import HORIZONTAL_POD_AUTOSCALER

KINDS = (HORIZONTAL_POD_AUTOSCALER,)

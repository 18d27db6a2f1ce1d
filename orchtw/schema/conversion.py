"""Conversion of objects between the served versions of a kind (supplement C9).

A kind that is not listed has the same fields in every version: only its apiVersion changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchtw.naming import Naming
from orchtw.schema.conversion_autoscaling import (
    autoscaler_v1_to_v2,
    autoscaler_v2_to_v1,
    autoscaler_v2_to_v2beta1,
    autoscaler_v2_to_v2beta2,
    autoscaler_v2beta1_to_v2,
    autoscaler_v2beta2_to_v2,
)
from orchtw.schema.conversion_discovery import slice_v1_to_v1beta1, slice_v1beta1_to_v1
from orchtw.schema.conversion_events import core_event_to_events, events_event_to_core
from orchtw.schema.conversion_policy import budget_v1_to_v1beta1, budget_v1beta1_to_v1

Object = dict[str, Any]
Function = Callable[[Object, Naming], Object]

_AUTOSCALER = ("", "HorizontalPodAutoscaler")

CONVERSIONS: dict[tuple[str, str], dict[tuple[str, str], Function]] = {
    ("autoscaling", "HorizontalPodAutoscaler"): {
        ("autoscaling/v1", "autoscaling/v2"): autoscaler_v1_to_v2,
        ("autoscaling/v2", "autoscaling/v1"): autoscaler_v2_to_v1,
        ("autoscaling/v2beta1", "autoscaling/v2"): autoscaler_v2beta1_to_v2,
        ("autoscaling/v2", "autoscaling/v2beta1"): autoscaler_v2_to_v2beta1,
        ("autoscaling/v2beta2", "autoscaling/v2"): autoscaler_v2beta2_to_v2,
        ("autoscaling/v2", "autoscaling/v2beta2"): autoscaler_v2_to_v2beta2,
    },
    ("discovery.orch.io", "EndpointSlice"): {
        ("discovery.orch.io/v1beta1", "discovery.orch.io/v1"): slice_v1beta1_to_v1,
        ("discovery.orch.io/v1", "discovery.orch.io/v1beta1"): slice_v1_to_v1beta1,
    },
    ("", "Event"): {
        ("v1", "events.orch.io/v1"): core_event_to_events,
        ("v1", "events.orch.io/v1beta1"): core_event_to_events,
        ("events.orch.io/v1", "v1"): events_event_to_core,
        ("events.orch.io/v1beta1", "v1"): events_event_to_core,
    },
    ("policy", "PodDisruptionBudget"): {
        ("policy/v1beta1", "policy/v1"): budget_v1beta1_to_v1,
        ("policy/v1", "policy/v1beta1"): budget_v1_to_v1beta1,
    },
}
"""By (storage group, kind), then by (from, to) apiVersion, in neutral names. A function gets the object as it is in
the old version and returns a new one without its apiVersion set; it changes nothing of what it was given."""

_HUBS = {"HorizontalPodAutoscaler": "autoscaling/v2"}

"""Conversion of objects between the served versions of a kind (supplement C9).

A kind that is not listed has the same fields in every version: only its apiVersion changes.
"""

from __future__ import annotations

from collections.abc import Callable

from orchtw.naming import Naming
from orchtw.objects import Object
from orchtw.schema.conversion.autoscaling import (
    autoscaler_v1_to_v2,
    autoscaler_v2_to_v1,
    autoscaler_v2_to_v2beta1,
    autoscaler_v2_to_v2beta2,
    autoscaler_v2beta1_to_v2,
    autoscaler_v2beta2_to_v2,
)
from orchtw.schema.conversion.discovery import slice_v1_to_v1beta1, slice_v1beta1_to_v1
from orchtw.schema.conversion.events import core_event_to_events, events_event_to_core
from orchtw.schema.conversion.policy import budget_v1_to_v1beta1, budget_v1beta1_to_v1

Function = Callable[[Object, Naming], Object]

CONVERSIONS: dict[str, dict[tuple[str, str], Function]] = {
    "HorizontalPodAutoscaler": {
        ("autoscaling/v1", "autoscaling/v2"): autoscaler_v1_to_v2,
        ("autoscaling/v2", "autoscaling/v1"): autoscaler_v2_to_v1,
        ("autoscaling/v2beta1", "autoscaling/v2"): autoscaler_v2beta1_to_v2,
        ("autoscaling/v2", "autoscaling/v2beta1"): autoscaler_v2_to_v2beta1,
        ("autoscaling/v2beta2", "autoscaling/v2"): autoscaler_v2beta2_to_v2,
        ("autoscaling/v2", "autoscaling/v2beta2"): autoscaler_v2_to_v2beta2,
    },
    "EndpointSlice": {
        ("discovery.orch.io/v1beta1", "discovery.orch.io/v1"): slice_v1beta1_to_v1,
        ("discovery.orch.io/v1", "discovery.orch.io/v1beta1"): slice_v1_to_v1beta1,
    },
    "Event": {
        ("v1", "events.orch.io/v1"): core_event_to_events,
        ("v1", "events.orch.io/v1beta1"): core_event_to_events,
        ("events.orch.io/v1", "v1"): events_event_to_core,
        ("events.orch.io/v1beta1", "v1"): events_event_to_core,
    },
    "PodDisruptionBudget": {
        ("policy/v1beta1", "policy/v1"): budget_v1beta1_to_v1,
        ("policy/v1", "policy/v1beta1"): budget_v1_to_v1beta1,
    },
}
"""By kind and (from, to) apiVersion, in neutral names. A function gets the object as it is in the old version and
returns it with the fields of the new one; what it was given stays as it is."""

_HUBS = {"HorizontalPodAutoscaler": "autoscaling/v2"}
"""Kinds with more than two forms: where there is no direct way, the hub is between."""


def converter(kind: str, source: str, target: str, *, naming: Naming) -> Callable[[Object], Object]:
    """The function that turns an object of `kind` from apiVersion `source` into `target`, both in `naming`'s names.

    It takes a canonical dict and returns a canonical one that shares unchanged parts with it.
    """
    api_versions = {naming.api_version(name): name for pair in CONVERSIONS.get(kind, ()) for name in pair}
    way = _way(kind, api_versions.get(source, source), api_versions.get(target, target))

    def convert(obj: Object) -> Object:
        for function in way:
            obj = function(obj, naming)
        return {**obj, "apiVersion": target}

    return convert


def _way(kind: str, source: str, target: str) -> tuple[Function, ...]:
    """The functions from `source` to `target` in neutral names; none when only the apiVersion changes."""
    functions = CONVERSIONS.get(kind, {})
    if (source, target) in functions:
        return (functions[source, target],)
    hub = _HUBS.get(kind)
    if hub is None or (source, hub) not in functions or (hub, target) not in functions:
        return ()
    return functions[source, hub], functions[hub, target]

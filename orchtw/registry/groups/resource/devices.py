"""Classes of devices, and the slices by which drivers publish devices (reference KIND-94)."""

from __future__ import annotations

from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.resource.device_values import has_advanced_features, value_causes
from orchtw.registry.groups.resource.expressions import SelectingStrategy
from orchtw.registry.groups.resource.selectors import configuration_causes, selector_causes
from orchtw.registry.kind import KindRecord
from orchtw.registry.traits import SPEC
from orchtw.schema.conversion.devices import SLICE_CONVERSIONS
from orchtw.schema.tables import cells_cluster
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values.causes import duplicate, invalid, required, too_many
from orchtw.values.names import dns_label, dns_subdomain
from orchtw.wire.objects import Object

_MAX_DEVICES: Final = 128
_MAX_ADVANCED_DEVICES: Final = 64
_NODES: Final = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_NODES_OF_DEVICE: Final = ("nodeName", "nodeSelector", "allNodes")
_ONE_OF_DEVICE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to "
    "true in the spec"
)
_NOT_BOTH: Final = "at most one of `devices` or `sharedCounters` may be set"
_ONE_OF: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"


class DeviceClassStrategy(SelectingStrategy):
    """Strategy of classes, whose selectors are compiled."""

    def validate_own(self, obj: Object, old: Object | None) -> list[Cause]:
        spec = obj.get("spec") or {}
        causes = selector_causes(spec.get("selectors") or (), "spec.selectors", self.compiler(old))
        return causes + configuration_causes(spec.get("config") or (), "spec.config")


def validate_slice(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate a slice; its driver, pool and node stay."""
    spec = new.get("spec") or {}
    causes = _pool_causes(spec.get("pool") or {}) + _choice_causes(spec, _NODES, "spec", _ONE_OF)
    if spec.get("devices") and spec.get("sharedCounters"):
        causes.append(invalid("spec", "{devices, sharedCounters}", _NOT_BOTH))
    causes += _device_causes(spec)
    if old is not None:
        before = old.get("spec") or {}
        if spec.get("driver") != before.get("driver"):
            causes.append(invalid("spec.driver", spec.get("driver"), IMMUTABLE))
        if (spec.get("pool") or {}).get("name") != (before.get("pool") or {}).get("name"):
            causes.append(invalid("spec.pool.name", (spec.get("pool") or {}).get("name"), IMMUTABLE))
        if spec.get("nodeName") != before.get("nodeName"):
            causes.append(invalid("spec.nodeName", spec.get("nodeName"), IMMUTABLE))
    return causes


def _choice_causes(holder: Object, keys: tuple[str, ...], path: str, wanted: str) -> list[Cause]:
    """Return the causes unless exactly one of the ways to name nodes is used."""
    causes = []
    for key in keys:
        value, place = holder.get(key), f"{path}.{key}"
        if value == "" or value is False:
            text = "a non-empty string" if value == "" else "true"
            causes.append(invalid(place, value, f"must be either unset or set to {text}"))
    chosen = [key for key in keys if holder.get(key) is not None]
    if len(chosen) > 1:
        causes.append(invalid(path, f"{{{', '.join(chosen)}}}", wanted))
    return causes if chosen else [required(path, wanted)]


def _pool_causes(pool: Object) -> list[Cause]:
    name, place = pool.get("name", ""), "spec.pool.name"
    causes: list[Cause] = []
    if not name:
        causes.append(required(place))
    for part in name.split("/") if name else ():
        causes += [invalid(place, part, text) for text in dns_subdomain(part)]
    if pool.get("generation", 0) < 0:
        text = "must be greater than or equal to zero"
        causes.append(invalid("spec.pool.generation", pool["generation"], text))
    if (count := pool.get("resourceSliceCount", 0)) <= 0:
        causes.append(invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    return causes


def _device_causes(spec: Object) -> list[Cause]:
    devices = spec.get("devices") or []
    place = "spec.devices"
    limit = _MAX_ADVANCED_DEVICES if has_advanced_features(devices) else _MAX_DEVICES
    causes = [too_many(place, len(devices), limit)] if len(devices) > limit else []
    names: set[str] = set()
    for index, device in enumerate(devices[:_MAX_DEVICES]):
        if len(causes) > MAX_CAUSES:
            break
        at, name = f"{place}[{index}]", device.get("name", "")
        if not name:
            causes.append(required(f"{at}.name"))
        causes += [invalid(f"{at}.name", name, text) for text in dns_label(name)] if name else []
        if name and name in names:
            causes.append(duplicate(f"{at}.name", name))
        names.add(name)
        causes += value_causes(device, at)
        if spec.get("perDeviceNodeSelection"):
            causes += _choice_causes(device, _NODES_OF_DEVICE, at, _ONE_OF_DEVICE)
    return causes


DEVICE_CLASS = KindRecord(
    group="resource.orch.io",
    kind="DeviceClass",
    generation=SPEC,
    strategy=DeviceClassStrategy,
    cells=cells_cluster.name_and_age,
)
RESOURCE_SLICE = KindRecord(
    group="resource.orch.io",
    kind="ResourceSlice",
    generation=SPEC,
    validate=validate_slice,
    conversions=SLICE_CONVERSIONS,
    cells=cells_cluster.device_slice,
)

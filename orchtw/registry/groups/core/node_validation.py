"""Validation of nodes: taints, ranges of pod addresses, resources, and fields that change once (reference
KIND-34).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.resource_lists import check_amount
from orchtw.schema.codec.json_text import parse_json
from orchtw.schema.validation.problems import identity
from orchtw.values.addresses import parse_cidr
from orchtw.values.causes import WHOLE_OBJECT, duplicate, forbidden, invalid, not_supported, required
from orchtw.values.go_literals import as_date_or_nil, as_text, pointer, shown, struct
from orchtw.values.names import config_key, dns_label, dns_subdomain, label_value, qualified_name
from orchtw.wire.objects import Object

_SHOWN_TAINT = struct(
    "core.Taint",
    Key=("key", as_text), Value=("value", as_text), Effect=("effect", as_text),
    TimeAdded=("timeAdded", as_date_or_nil),
)  # fmt: skip
_SHOWN_ADDRESS = struct("core.NodeAddress", Type=("type", as_text), Address=("address", as_text))
_SHOWN_SOURCE = struct(
    "core.NodeConfigSource", ConfigMap=("configMap", pointer("core.ConfigMapNodeConfigSource", str))
)

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_TWICE: Final = "taints must be unique by key and effect pair"
_TAINTS_ANNOTATION: Final = "scheduler.alpha.orch.io/taints"
_AVOIDING_ANNOTATION: Final = "scheduler.alpha.orch.io/preferAvoidPods"
_ONCE: Final = 'node updates may not change {} except from "" to valid'
_NOTHING_ELSE: Final = (
    "node updates may only change labels, taints, or capacity (or configSource, if the DynamicOrchletConfig feature "
    "gate is enabled)"
)
_CHANGEABLE: Final = frozenset({"podCIDR", "podCIDRs", "providerID", "unschedulable", "taints", "configSource"})


def validate_node(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate a Node and its changes; the status counts too, for nodes send it along."""
    spec, status = new.get("spec") or {}, new.get("status") or {}
    causes = _check_annotations(new["metadata"].get("annotations") or {}, naming)
    causes += _check_taints("metadata.taints", spec.get("taints") or [])
    for name in ("capacity", "allocatable"):
        causes += _check_resources(f"status.{name}", status.get(name) or {}, naming)
    ranges = spec.get("podCIDRs") or []
    before = None if old is None else old.get("spec") or {}
    if ranges and (before is None or not before.get("podCIDRs")):
        causes += _check_ranges(ranges)
    if before is not None:
        causes += _check_change(spec, before, naming)
        causes += _check_addresses(status.get("addresses") or [])
        causes += _check_configuration(spec, status, naming)
    return causes


def validate_node_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate the same as `validate_node`: a write to /status cannot change the rest."""
    return validate_node(new, old, naming)


def node_warnings(new: Object, old: Object | None, naming: Naming) -> list[str]:
    """Return the warning that settings for the node agent are no longer handed out."""
    if (new.get("spec") or {}).get("configSource") is None:
        return []
    return ["spec.configSource: deprecated in v1.22, support removal is planned in v1.23"]


def _check_taints(path: str, taints: list[Object]) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        place = f"{path}[{index}]"
        key, value, effect = (taint.get(name) or "" for name in ("key", "value", "effect"))
        causes += [invalid(f"{place}.key", key, text) for text in qualified_name(key)]
        if texts := label_value(value):
            causes.append(invalid(f"{place}.value", value, ";".join(texts)))
        if not effect:
            causes.append(required(f"{place}.effect"))
        elif effect not in _EFFECTS:
            causes.append(not_supported(f"{place}.effect", effect, _EFFECTS))
        if (key, effect) in seen:
            twice = duplicate(place, shown(_SHOWN_TAINT, taint))
            causes.append(Cause(twice.reason, f"{twice.message}: {_TWICE}", place))
        seen.add((key, effect))
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _check_annotations(annotations: Mapping[str, str], naming: Naming) -> list[Cause]:
    """Validate the older forms of taints, and of pods that a node should avoid."""
    if not annotations:
        return []
    causes: list[Cause] = []
    name = naming.translate(_TAINTS_ANNOTATION)
    if text := annotations.get(name):
        taints = _objects(_parsed(text))
        if taints is None:
            causes.append(invalid("metadata.annotations", name, "must be a list of taints in JSON"))
        else:
            causes += _check_taints(f"metadata.annotations.{name}", taints)
    name = naming.translate(_AVOIDING_ANNOTATION)
    if text := annotations.get(name):
        content = _parsed(text)
        entries = _objects(content.get("preferAvoidPods")) if isinstance(content, dict) else None
        if entries is None:
            causes.append(invalid("metadata.annotations.AvoidPods", name, "must list pods to avoid in JSON"))
        else:
            causes += _check_avoided(f"metadata.annotations.{name}", entries)
    return causes


def _parsed(text: str) -> Any:
    try:
        return parse_json(text.encode())
    except ValueError:
        return ""


def _objects(content: Any) -> list[Object] | None:
    """Return a list of objects whose values are texts or objects; None: it is something else."""
    if content is None:
        return []
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        return None
    texts = ("key", "value", "effect")
    return content if all(isinstance(each.get(name, ""), str) for each in content for name in texts) else None


def _check_avoided(path: str, entries: list[Object]) -> list[Cause]:
    causes: list[Cause] = []
    for index, entry in enumerate(entries):
        place = f"{path}[{index}].PodSignature"
        signature = entry.get("podSignature")
        controller = signature.get("podController") if isinstance(signature, dict) else None
        if not isinstance(controller, dict):
            causes.append(required(place))
        elif controller.get("controller") is not True:
            causes.append(invalid(f"{place}.PodController.Controller", False, "must point to a controller"))
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _check_resources(path: str, amounts: Mapping[str, str], naming: Naming) -> list[Cause]:
    causes: list[Cause] = []
    for name, text in amounts.items():
        causes += check_amount(f"{path}.{name}", name, text, naming)
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _check_ranges(ranges: list[str]) -> list[Cause]:
    path = "spec.podCIDRs"
    causes: list[Cause] = []
    seen: set[str] = set()
    families: set[int] = set()
    first = ranges[:MAX_CAUSES]
    for index, text in enumerate(first):
        found = parse_cidr(text)
        if found is None:
            causes.append(invalid(f"{path}[{index}]", first, "must be valid CIDR"))
        else:
            families.add(found.version)
        if text in seen:
            causes.append(duplicate(f"{path}[{index}]", text))
        seen.add(text)
    if len(ranges) > 1 and (len(ranges) > 2 or len(families) < 2):
        causes.append(invalid(path, first, "may specify no more than one CIDR for each IP family"))
    return causes


def _check_change(spec: Object, before: Object, naming: Naming) -> list[Cause]:
    causes = []
    if (had := before.get("podCIDRs")) and spec.get("podCIDRs") != had:
        causes.append(forbidden("spec.podCIDRs", _ONCE.format("podCIDR")))
    if (had := before.get("providerID")) and spec.get("providerID") != had:
        causes.append(forbidden("spec.providerID", _ONCE.format("providerID")))
    others = (spec.keys() | before.keys()) - _CHANGEABLE
    if any((spec.get(name) or None) != (before.get(name) or None) for name in others):
        causes.append(forbidden(WHOLE_OBJECT, naming.translate_text(_NOTHING_ELSE)))
    return causes


def _check_addresses(addresses: list[Object]) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[bytes] = set()
    for index, address in enumerate(addresses):
        key = identity(address)
        if key in seen:
            causes.append(duplicate(f"status.addresses[{index}]", shown(_SHOWN_ADDRESS, address)))
        seen.add(key)
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _check_configuration(spec: Object, status: Object, naming: Naming) -> list[Cause]:
    """Validate settings for the node agent, which only older nodes can still name."""
    causes: list[Cause] = []
    if (source := spec.get("configSource")) is not None:
        causes += _check_source("spec.configSource", source, naming, in_status=False)
    settings = status.get("config") or {}
    for name in ("assigned", "active", "lastKnownGood"):
        if (source := settings.get(name)) is not None:
            causes += _check_source(f"status.config.{name}", source, naming, in_status=True)
    return causes


def _check_source(path: str, source: Object, naming: Naming, *, in_status: bool) -> list[Cause]:
    found = source.get("configMap")
    if found is None:
        return [invalid(path, shown(_SHOWN_SOURCE, source), "exactly one reference subfield must be non-nil")]
    place = f"{path}.configMap"
    causes = []
    for name in ("uid", "resourceVersion"):
        if in_status and not found.get(name):
            causes.append(required(f"{place}.{name}", f"{name} must be set in status"))
        elif found.get(name) and not in_status:
            causes.append(forbidden(f"{place}.{name}", f"{name} must not be set in spec"))
    key = naming.translate("orchletConfigKey")
    for name, form in (("namespace", dns_label), ("name", dns_subdomain), (key, config_key)):
        value = found.get(name) or ""
        if not value:
            causes.append(required(f"{place}.{name}", f"{name} must be set in node config source"))
        else:
            causes += [invalid(f"{place}.{name}", value, text) for text in form(value)]
    return causes

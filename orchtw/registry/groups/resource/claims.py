"""Claims of devices, and templates of claims (reference KIND-94)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.registry.groups.resource.claim_status import NOT_A_REQUEST, validate_claim_status
from orchtw.registry.groups.resource.expressions import SelectingStrategy
from orchtw.registry.groups.resource.selectors import (
    Check,
    configuration_causes,
    selector_causes,
    toleration_causes,
)
from orchtw.registry.kind import KindRecord
from orchtw.schema.conversion.devices import CLAIM_CONVERSIONS, OF_REQUEST, TEMPLATE_CONVERSIONS
from orchtw.schema.tables import cells_cluster
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values.causes import duplicate, invalid, not_supported, required, too_many
from orchtw.values.names import dns_label
from orchtw.wire.objects import Object

_MAX_REQUESTS: Final = 32
_MAX_ALTERNATIVES: Final = 8
_MAX_CONSTRAINTS: Final = 32
_MODES: Final = ("All", "ExactCount")


def claim_spec_causes(spec: Object, path: str, check: Check) -> list[Cause]:
    """Return the causes that reject the spec of a claim; `check` compiles expressions."""
    devices, place = spec.get("devices") or {}, f"{path}.devices"
    requests, constraints = devices.get("requests") or [], devices.get("constraints") or []
    causes: list[Cause] = []
    if len(requests) > _MAX_REQUESTS:
        causes.append(too_many(f"{place}.requests", len(requests), _MAX_REQUESTS))
    names: set[str] = set()
    for index, request in enumerate(requests):
        if len(causes) > MAX_CAUSES:
            return causes
        at, name = f"{place}.requests[{index}]", request.get("name", "")
        if name in names:
            causes.append(duplicate(f"{at}.name", name))
        names.add(name)
        causes += _name_causes(name, f"{at}.name") + _request_causes(request, at, names, check)
    if len(constraints) > _MAX_CONSTRAINTS:
        causes.append(too_many(f"{place}.constraints", len(constraints), _MAX_CONSTRAINTS))
    for index, constraint in enumerate(constraints[:_MAX_CONSTRAINTS]):
        at = f"{place}.constraints[{index}]"
        causes += _reference_causes(constraint, at, names) + _attribute_causes(constraint, at)
    config = devices.get("config") or []
    for index, configuration in enumerate(config[:_MAX_CONSTRAINTS]):
        causes += _reference_causes(configuration, f"{place}.config[{index}]", names)
    return causes + configuration_causes(config, f"{place}.config")


def _reference_causes(holder: Object, path: str, names: set[str]) -> list[Cause]:
    """Return the causes for names of requests that the claim does not have."""
    unknown = [(index, name) for index, name in enumerate(holder.get("requests") or ()) if name not in names]
    return [invalid(f"{path}.requests[{index}]", name, NOT_A_REQUEST) for index, name in unknown[:MAX_CAUSES]]


def _attribute_causes(constraint: Object, path: str) -> list[Cause]:
    given = [key for key in ("matchAttribute", "distinctAttribute") if constraint.get(key) is not None]
    if not given:
        return [required(f"{path}.matchAttribute")]
    text = "exactly one of `matchAttribute` or `distinctAttribute` is required, but multiple fields are set"
    return [invalid(path, None, text)] if len(given) > 1 else []


def _request_causes(request: Object, path: str, names: set[str], check: Check) -> list[Cause]:
    """Validate the one exact request or the alternatives, whose names `names` gets too."""
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    if exactly is None and not alternatives:
        return [required(path, "exactly one of `exactly` or `firstAvailable` is required")]
    if exactly is not None and alternatives:
        text = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"
        return [invalid(path, None, text)]
    if exactly is not None:
        return _exact_causes(exactly, f"{path}.exactly", check)
    causes: list[Cause] = []
    if len(alternatives) > _MAX_ALTERNATIVES:
        causes.append(too_many(f"{path}.firstAvailable", len(alternatives), _MAX_ALTERNATIVES))
    seen: set[str] = set()
    for index, alternative in enumerate(alternatives[:_MAX_ALTERNATIVES]):
        at, name = f"{path}.firstAvailable[{index}]", alternative.get("name", "")
        if name in seen:
            causes.append(duplicate(f"{at}.name", name))
        seen.add(name)
        causes += _name_causes(name, f"{at}.name") + _exact_causes(alternative, at, check)
    names.update(f"{request.get('name', '')}/{name}" for name in seen)
    return causes


def _exact_causes(request: Object, path: str, check: Check) -> list[Cause]:
    causes = selector_causes(request.get("selectors") or (), f"{path}.selectors", check)
    mode, count = request.get("allocationMode", ""), request.get("count", 0)
    if mode not in _MODES:
        causes.append(not_supported(f"{path}.allocationMode", mode, _MODES))
    elif mode == "All" and count:
        text = "must not be specified when allocationMode is 'All'"
        causes.append(invalid(f"{path}.count", count, text))
    elif mode == "ExactCount" and count <= 0:
        causes.append(invalid(f"{path}.count", count, "must be greater than zero"))
    return causes + toleration_causes(request.get("tolerations") or (), f"{path}.tolerations")


def _name_causes(name: str, path: str) -> list[Cause]:
    return [invalid(path, name, text) for text in dns_label(name)] if name else [required(path)]


def set_claim_defaults(claim: Object) -> None:
    """Fill in one device for each request that does not say a number."""
    _set_defaults(claim.get("spec") or {})


def set_claim_template_defaults(template: Object) -> None:
    """Fill in the defaults of the claims to be made."""
    _set_defaults((template.get("spec") or {}).get("spec") or {})


def _set_defaults(spec: Object) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        alternatives = request.get("firstAvailable") or ()
        exact = [request["exactly"]] if request.get("exactly") is not None else []
        if "deviceClassName" in request and not alternatives:  # of v1beta1
            exact.append(request)
        for each in (*exact, *alternatives):
            if not each.get("allocationMode"):
                _put(each, "allocationMode", "ExactCount")
            if each["allocationMode"] == "ExactCount" and not each.get("count"):
                _put(each, "count", 1)


_REQUEST = ("name", *OF_REQUEST)


def _put(request: Object, key: str, value: object) -> None:
    """Set a key and restore the order of keys."""
    found: Mapping[str, object] = {**request, key: value}
    request.clear()
    request.update({name: found[name] for name in _REQUEST if name in found})


class ClaimStrategy(SelectingStrategy):
    """Strategy of claims, whose spec stays."""

    def validate_own(self, obj: Object, old: Object | None) -> list[Cause]:
        spec = obj.get("spec") or {}
        if old is not None:
            return [] if spec == (old.get("spec") or {}) else [invalid("spec", spec, IMMUTABLE)]
        return claim_spec_causes(spec, "spec", self.compiler(old))


class ClaimTemplateStrategy(SelectingStrategy):
    """Strategy of templates of claims, whose spec stays."""

    def validate_own(self, obj: Object, old: Object | None) -> list[Cause]:
        spec = obj.get("spec") or {}
        if old is not None:
            return [] if spec == (old.get("spec") or {}) else [invalid("spec", spec, IMMUTABLE)]
        return claim_spec_causes(spec.get("spec") or {}, "spec.spec", self.compiler(old))


RESOURCE_CLAIM = KindRecord(
    group="resource.orch.io",
    kind="ResourceClaim",
    set_defaults=set_claim_defaults,
    strategy=ClaimStrategy,
    validate_status=validate_claim_status,
    conversions=CLAIM_CONVERSIONS,
    cells=cells_cluster.device_claim,
)
RESOURCE_CLAIM_TEMPLATE = KindRecord(
    group="resource.orch.io",
    kind="ResourceClaimTemplate",
    set_defaults=set_claim_template_defaults,
    strategy=ClaimTemplateStrategy,
    conversions=TEMPLATE_CONVERSIONS,
    cells=cells_cluster.name_and_age,
)

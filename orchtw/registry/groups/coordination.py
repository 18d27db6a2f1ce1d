"""Kinds of group coordination: Leases, and the candidates for them."""

from __future__ import annotations

from typing import Any, Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.schema.tables import cells_cluster
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values import semantic_versions
from orchtw.values.causes import forbidden, invalid, not_supported, required
from orchtw.values.names import qualified_name
from orchtw.wire.objects import Object

_STRATEGIES: Final = ("OldestEmulationVersion",)


def validate_lease(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate the strategy of a Lease, without which no holder is preferred (reference KIND-100)."""
    spec = new.get("spec") or {}
    strategy = spec.get("strategy")
    causes = [] if strategy is None else _strategy_causes(strategy)
    if spec.get("preferredHolder") and not strategy:
        causes.append(forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"))
    return causes


def _strategy_causes(strategy: str) -> list[Cause]:
    """Validate that a strategy is known, or has the domain of its owner."""
    place = "spec.strategy"
    if "/" not in strategy:
        return [] if strategy in _STRATEGIES else [not_supported(place, strategy, _STRATEGIES)]
    return [invalid(place, strategy, text) for text in qualified_name(strategy)]


def validate_candidate(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate a candidate for a Lease, which stays (reference KIND-100)."""
    spec = new.get("spec") or {}
    name, strategy = spec.get("leaseName", ""), spec.get("strategy", "")
    causes = [] if name else [required("spec.leaseName")]
    if old is not None and name != (old.get("spec") or {}).get("leaseName", ""):
        causes.append(invalid("spec.leaseName", name, IMMUTABLE))
    causes += _strategy_causes(strategy) if strategy else [required("spec.strategy")]
    binary, emulated = (_version(spec, key, causes) for key in ("binaryVersion", "emulationVersion"))
    if not spec.get("binaryVersion"):
        causes.append(required("spec.binaryVersion"))
    elif binary is not None and emulated is not None and emulated > binary:
        text = "must be less than or equal to binaryVersion"
        causes.append(invalid("spec.emulationVersion", spec["emulationVersion"], text))
    return causes


def _version(spec: Object, key: str, causes: list[Cause]) -> Any:
    """Return the order of a version, or None; `causes` gets why it is not one."""
    text = spec.get(key)
    found = semantic_versions.order(text) if text else None
    if text and found is None:
        causes.append(invalid(f"spec.{key}", text, "must be a valid semantic version"))
    return found


LEASE = KindRecord(
    group="coordination.orch.io",
    kind="Lease",
    create_on_update=True,
    unconditional_update=False,
    free_finalizers=True,
    validate=validate_lease,
    cells=cells_cluster.lease,
)
LEASE_CANDIDATE = KindRecord(
    group="coordination.orch.io",
    kind="LeaseCandidate",
    create_on_update=True,
    unconditional_update=False,
    validate=validate_candidate,
)

KINDS = (LEASE, LEASE_CANDIDATE)

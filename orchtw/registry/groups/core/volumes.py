"""Persistent volumes, and claims wherever they occur."""

from __future__ import annotations

from collections.abc import Mapping

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.amounts import round_up
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.claim_validation import (
    changed_claim_causes,
    validate_claim,
    validate_claim_status,
)
from orchtw.registry.groups.core.volume_validation import validate_volume
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.request import UserInfo
from orchtw.schema.tables import cells_core
from orchtw.wire.objects import Object

_VOLUME_TAIL = ("persistentVolumeReclaimPolicy", "storageClassName", "mountOptions", "volumeMode", "nodeAffinity") + (
    "volumeAttributesClassName",
)

_PHASE_SINCE = "lastPhaseTransitionTime"


def set_volume_defaults(volume: Object) -> None:
    """Fill in the defaults of a persistent volume; a spec inside a volume attachment gets none of them."""
    spec = volume["spec"]
    if "persistentVolumeReclaimPolicy" not in spec:
        put(spec, "persistentVolumeReclaimPolicy", "Retain", _VOLUME_TAIL)
    if "volumeMode" not in spec:
        put(spec, "volumeMode", "Filesystem", _VOLUME_TAIL)
    round_up(spec, "capacity")


def set_claim_defaults(claim: Object) -> None:
    """Fill in the defaults of a claim."""
    set_claim_spec_defaults(claim["spec"])
    round_up(claim["status"], "capacity", "allocatedResources")


def set_claim_spec_defaults(spec: Object) -> None:
    """Fill in the defaults of a claim's spec."""
    round_up(spec["resources"], "limits", "requests")


class VolumeStrategy(Strategy):
    """Strategy of persistent volumes, whose status has the time of the last change of their phase."""

    _tells_times = False

    def configure(self, gates: Mapping[str, bool]) -> None:
        self._tells_times = gates["PersistentVolumeLastPhaseTransitionTime"]

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        if self._tells_times:
            obj["status"] = {**(obj.get("status") or {}), _PHASE_SINCE: obj["metadata"]["creationTimestamp"]}

    def prepare_for_status(self, new: Object, old: Object, now: str) -> Object:
        """Return the volume with its status, and the time if the phase changes and the writer gives none."""
        kept = super().prepare_for_status(new, old, now)
        status, before = kept.get("status") or {}, old.get("status") or {}
        if self._tells_times and status.get("phase") != before.get("phase"):
            if status.get(_PHASE_SINCE) in (None, before.get(_PHASE_SINCE)):
                kept["status"] = {**status, _PHASE_SINCE: now}
        return kept


class ClaimStrategy(Strategy):
    """Strategy of claims, whose dataSource and dataSourceRef are kept alike."""

    _has_classes = False
    _recovers = False

    def configure(self, gates: Mapping[str, bool]) -> None:
        self._has_classes = gates["VolumeAttributesClass"]
        self._recovers = gates["RecoverVolumeExpansionFailure"]

    def validate_content(self, obj: Object, old: Object | None) -> list[Cause]:
        """Validate a claim; a class of attributes may change while it is bound."""
        if old is None or not self._has_classes:
            return super().validate_content(obj, old)
        return self.validate_declared(obj, old) + changed_claim_causes(obj, old, self.naming)

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        self._level_sources(obj["spec"], {})

    def prepare_for_update(self, new: Object, old: Object) -> None:
        super().prepare_for_update(new, old)
        new["spec"] = dict(new["spec"])  # it may be that of `old`
        self._level_sources(new["spec"], old["spec"])

    def prepare_for_status(self, new: Object, old: Object, now: str) -> Object:
        """Return the claim with its status, without new fields of resizing while its gate is off."""
        kept = super().prepare_for_status(new, old, now)
        if self._recovers:
            return kept
        before = old.get("status") or {}
        gated = {name for name in ("allocatedResources", "resizeStatus") if name not in before}
        kept["status"] = {name: value for name, value in (kept.get("status") or {}).items() if name not in gated}
        return kept

    def _level_sources(self, spec: Object, before: Object) -> None:
        source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
        settled = before.get("dataSource") is not None or before.get("dataSourceRef") is not None
        if source is not None and reference is None and not settled and not _is_known(source, self.naming):
            del spec["dataSource"]
        elif source is not None and reference is None:
            spec["dataSourceRef"] = dict(source)
        elif reference is not None and source is None and not reference.get("namespace"):
            put(spec, "dataSource", dict(reference), ("dataSourceRef", "volumeAttributesClassName"))


def _is_known(source: Object, naming: Naming) -> bool:
    known = (("", "PersistentVolumeClaim"), (naming.group("snapshot.storage.orch.io"), "VolumeSnapshot"))
    return (source.get("apiGroup") or "", source.get("kind")) in known


PERSISTENT_VOLUME = KindRecord(
    group="",
    kind="PersistentVolume",
    strategy=VolumeStrategy,
    set_defaults=set_volume_defaults,
    validate=validate_volume,
    cells=cells_core.volume,
)
PERSISTENT_VOLUME_CLAIM = KindRecord(
    group="",
    kind="PersistentVolumeClaim",
    strategy=ClaimStrategy,
    set_defaults=set_claim_defaults,
    validate=validate_claim,
    validate_status=validate_claim_status,
    cells=cells_core.claim,
)

"""Record and rules of StatefulSets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.emission_order import put
from orchtw.registry.groups.apps.rolling_updates import ON_DELETE, ROLLING
from orchtw.registry.groups.core.controller_rules import (
    collision_causes,
    count_causes,
    empty_selector_causes,
    lasting_pod_causes,
    meaning,
    template_of,
    unselected_causes,
    warn_of_pods,
)
from orchtw.registry.groups.core.pod_annotations import annotation_causes, keys_in
from orchtw.registry.groups.core.pod_templates import set_pod_template_defaults
from orchtw.registry.groups.core.volumes import set_claim_defaults
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.registry.traits import SPEC
from orchtw.request import UserInfo
from orchtw.schema.tables import cells_workloads
from orchtw.schema.validation.metadata import validate_annotations, validate_labels
from orchtw.values.causes import forbidden, invalid, not_supported, required
from orchtw.values.go_literals import SELECTOR, as_amount, as_number, as_text, pointer, shown, struct
from orchtw.wire.objects import Object

_ROLLING_KIND = "apps.RollingUpdateStatefulSetStrategy"
_SHOWN_ROLLING = struct(
    _ROLLING_KIND,
    Partition=("partition", as_number),
    MaxUnavailable=("maxUnavailable", pointer("intstr.IntOrString", as_amount)),
)
_SHOWN = struct(
    "apps.StatefulSetUpdateStrategy",
    Type=("type", as_text),
    RollingUpdate=("rollingUpdate", pointer(_ROLLING_KIND, _SHOWN_ROLLING)),
)

_STRATEGY, _TEMPLATE = "spec.updateStrategy", "spec.template"
_MANAGEMENT = ("OrderedReady", "Parallel")
_RETENTION = "persistentVolumeClaimRetentionPolicy"
_RETAIN = "Retain"
_MOMENTS = ("whenDeleted", "whenScaled")
_RETENTIONS = ("Delete", _RETAIN)
_WRITABLE = frozenset({"replicas", "template", "updateStrategy", "minReadySeconds", "ordinals", _RETENTION})
_FIXED: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy', "
    "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_COUNTS = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")


class StatefulSetStrategy(Strategy):
    """Fields whose features release 1.24 leaves off are dropped, unless the stored object has them already."""

    _retains = False
    _limits_unavailable = False

    def configure(self, gates: Mapping[str, bool]) -> None:
        self._retains = gates["StatefulSetAutoDeletePVC"]
        self._limits_unavailable = gates["MaxUnavailableStatefulSet"]

    def set_defaults(self, obj: Object) -> None:
        """Fill in the defaults, and the parts of a retention policy (reference KIND-98)."""
        super().set_defaults(obj)
        if self._retains and (policy := obj["spec"].get(_RETENTION)) is not None:
            obj["spec"][_RETENTION] = {key: policy.get(key) or _RETAIN for key in _MOMENTS}

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        self._drop_disabled(obj["spec"], {})

    def prepare_for_update(self, new: Object, old: Object) -> None:
        self._drop_disabled(new["spec"], old["spec"])
        super().prepare_for_update(new, old)

    def _drop_disabled(self, spec: Object, old: Object) -> None:
        if not self._retains and old.get(_RETENTION) is None:
            spec.pop(_RETENTION, None)
        if not self._limits_unavailable:
            _drop_unavailable(spec, old)


def _drop_unavailable(spec: Object, old: Object) -> None:
    rolling = (spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
    if ((old.get("updateStrategy") or {}).get("rollingUpdate") or {}).get("maxUnavailable") is None:
        rolling.pop("maxUnavailable", None)


def set_stateful_set_defaults(stateful_set: Object) -> None:
    """Fill in the update strategy: rolling, of all pods; a type given without details gets none."""
    spec = stateful_set["spec"]
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        put(strategy, "type", ROLLING, ("type", "rollingUpdate"))
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == ROLLING and "rollingUpdate" in strategy:
        strategy["rollingUpdate"] = {"partition": 0, **strategy["rollingUpdate"]}
    set_pod_template_defaults(spec)
    for claim in spec.get("volumeClaimTemplates") or ():
        set_claim_defaults(claim)


def validate_stateful_set(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that selector, template and strategies fit each other, and that fixed fields stay."""
    spec = new["spec"]
    causes = _management_causes(spec.get("podManagementPolicy")) + _strategy_causes(spec.get("updateStrategy") or {})
    causes += _retention_causes(spec.get(_RETENTION) or {}) + empty_selector_causes(spec, "statefulset")
    if (selector := meaning(spec.get("selector"))) is None:
        causes.append(invalid("spec.selector", shown(SELECTOR, spec.get("selector")), ""))
    else:
        causes += [] if selector.empty else unselected_causes(spec, selector)
        causes += _template_causes(template_of(spec), naming)
    causes += lasting_pod_causes(spec, "StatefulSet")
    if old is not None and _fixed(spec) != _fixed(old["spec"]):
        causes.append(forbidden("spec", _FIXED))
    return causes


def _retention_causes(policy: Object) -> list[Cause]:
    given = {f"spec.{_RETENTION}.{key}": policy[key] for key in _MOMENTS if key in policy}
    return [not_supported(place, value, _RETENTIONS) for place, value in given.items() if value not in _RETENTIONS]


def _fixed(spec: Object) -> Object:
    return {key: value for key, value in spec.items() if key not in _WRITABLE}


def _management_causes(policy: str | None) -> list[Cause]:
    if not policy or policy in _MANAGEMENT:
        return []
    return [invalid("spec.podManagementPolicy", policy, "must be '{}' or '{}'".format(*_MANAGEMENT))]


def _strategy_causes(strategy: Object) -> list[Cause]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if not kind:
        return [required(_STRATEGY)]
    if kind not in (ROLLING, ON_DELETE):
        return [invalid(_STRATEGY, shown(_SHOWN, strategy), f"must be '{ROLLING}' or '{ON_DELETE}'")]
    if kind == ON_DELETE and rolling is not None:
        why = f"only allowed for updateStrategy '{ROLLING}'"
        return [invalid(f"{_STRATEGY}.rollingUpdate", shown(_SHOWN_ROLLING, rolling), why)]
    return []


def _template_causes(template: Object, naming: Naming) -> list[Cause]:
    """Return the causes of the template's metadata; its spec is not checked, for it lacks the volumes of the
    claims.
    """
    meta = template.get("metadata") or {}
    causes = validate_labels(meta.get("labels") or {}, f"{_TEMPLATE}.labels")
    causes += validate_annotations(meta.get("annotations") or {}, f"{_TEMPLATE}.annotations")
    return causes + annotation_causes(template, None, f"{_TEMPLATE}.annotations", keys_in(naming.vocabulary))


def validate_stateful_set_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate that the counts fit each other."""
    status = new.get("status") or {}
    causes = count_causes(status, _COUNTS, "cannot be greater than status.readyReplicas")
    return causes + collision_causes(status, old.get("status") or {})


STATEFUL_SET = KindRecord(
    group="apps",
    kind="StatefulSet",
    strategy=StatefulSetStrategy,
    generation=SPEC,
    set_defaults=set_stateful_set_defaults,
    validate=validate_stateful_set,
    validate_status=validate_stateful_set_status,
    warn=warn_of_pods,
    cells=cells_workloads.stateful_set,
)

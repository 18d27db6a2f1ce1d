"""Record and strategy of DaemonSets."""

from __future__ import annotations

import re
from typing import Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apps.rolling_updates import ON_DELETE, ROLLING, set_rolling_defaults
from orchtw.registry.groups.core.controller_rules import (
    collision_causes,
    empty_selector_causes,
    lasting_pod_causes,
    meaning,
    shared_disk_causes,
    unselected_causes,
    warn_of_pods,
)
from orchtw.registry.groups.core.pod_templates import set_pod_template_defaults
from orchtw.registry.kind import KindRecord
from orchtw.registry.metadata import put_annotation
from orchtw.registry.strategy import Strategy
from orchtw.registry.traits import SPEC
from orchtw.request import UserInfo
from orchtw.schema.tables import cells_workloads
from orchtw.values.causes import Literal, invalid, not_supported, required
from orchtw.values.go_literals import as_amount, as_text, pointer, shown, struct
from orchtw.values.int_or_percent import amount, part_causes, share_causes
from orchtw.wire.objects import Object

_ROLLING_KIND = "apps.RollingUpdateDaemonSet"
_SHOWN = struct(
    "apps.DaemonSetUpdateStrategy",
    Type=("type", as_text),
    RollingUpdate=("rollingUpdate", pointer(_ROLLING_KIND, struct(
        _ROLLING_KIND, MaxUnavailable=("maxUnavailable", as_amount), MaxSurge=("maxSurge", as_amount)
    ))),
)  # fmt: skip

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
"""The annotation that counts the changes of the template; the server writes it (reference KIND-61)."""

_INTEGER = re.compile("[+-]?[0-9]{1,18}")
_STRATEGY = "spec.updateStrategy"


class DaemonSetStrategy(Strategy):
    """Strategy of DaemonSets, which counts templates."""

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        _count(obj, _counted(obj))

    def prepare_for_update(self, new: Object, old: Object) -> None:
        changed = new["spec"].get("template") != old["spec"].get("template")
        _count(new, _counted(old) + (1 if changed else 0))
        super().prepare_for_update(new, old)

    def prepare_for_status(self, new: Object, old: Object, now: str) -> Object:
        kept = super().prepare_for_status(new, old, now)
        kept["metadata"] = dict(kept["metadata"])
        _count(kept, _counted(old))
        return kept


def _counted(obj: Object) -> int:
    """Return the number of templates the object has had, at least one."""
    text = (obj["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "")
    return max(int(text), 1) if _INTEGER.fullmatch(text) else 1


def _count(obj: Object, generation: int) -> None:
    put_annotation(obj["metadata"], TEMPLATE_GENERATION, str(generation))


def set_daemon_set_defaults(daemon_set: Object) -> None:
    """Fill in a rolling update of one pod at a time, replaced after it has gone."""
    spec = daemon_set["spec"]
    set_rolling_defaults(spec["updateStrategy"], 1, 0)
    set_pod_template_defaults(spec)


def validate_daemon_set(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that selector, template and update strategy fit each other."""
    spec = new["spec"]
    causes = empty_selector_causes(spec, "daemonset") + unselected_causes(spec, meaning(spec.get("selector")))
    causes += shared_disk_causes(spec) + lasting_pod_causes(spec, "DaemonSet")
    return causes + _strategy_causes(spec.get("updateStrategy") or {})


def _strategy_causes(strategy: Object) -> list[Cause]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == ON_DELETE:
        return []
    if kind != ROLLING:
        return [not_supported(_STRATEGY, shown(_SHOWN, strategy), (ROLLING, ON_DELETE))]
    if rolling is None:
        return [required(f"{_STRATEGY}.rollingUpdate")]
    return _rolling_causes(f"{_STRATEGY}.rollingUpdate", rolling)


def _rolling_causes(field: str, rolling: Object) -> list[Cause]:
    """Return the causes that reject a rolling update: exactly one of its two amounts must not be 0."""
    down, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    causes = []
    for key, value in (("maxUnavailable", down), ("maxSurge", surge)):
        causes += share_causes(f"{field}.{key}", value) + part_causes(f"{field}.{key}", value)
    if amount(down) and amount(surge):
        why = "may not be set when maxUnavailable is non-zero"
        causes.append(invalid(f"{field}.maxSurge", Literal(as_amount(surge)), why))
    elif not amount(down) and not amount(surge):
        causes.append(required(f"{field}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return causes


def validate_daemon_set_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate that the collision count does not fall."""
    return collision_causes(new.get("status") or {}, old.get("status") or {})


DAEMON_SET = KindRecord(
    group="apps",
    kind="DaemonSet",
    strategy=DaemonSetStrategy,
    generation=SPEC,
    set_defaults=set_daemon_set_defaults,
    validate=validate_daemon_set,
    validate_status=validate_daemon_set_status,
    warn=warn_of_pods,
    cells=cells_workloads.daemon_set,
)

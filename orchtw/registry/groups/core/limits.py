"""Limits and quotas of a namespace."""

from __future__ import annotations

from orchtw.registry.amounts import round_up
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.limit_range_validation import validate_limit_range
from orchtw.registry.groups.core.quota_strategy import ResourceQuotaStrategy
from orchtw.registry.groups.core.quota_validation import validate_quota_status
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.request import UserInfo
from orchtw.schema.tables import cells_core
from orchtw.values.uuids import new_uuid
from orchtw.wire.objects import Object

_LIMITS_TAIL = ("default", "defaultRequest", "maxLimitRequestRatio")


def set_limit_range_defaults(limit_range: Object) -> None:
    """Fill in the defaults of containers: the limit is the maximum, the request the limit, else the minimum."""
    for limits in limit_range["spec"].get("limits") or ():
        round_up(limits, "max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
        if limits["type"] == "Container":
            _extend(limits, "default", limits.get("max"))
            _extend(limits, "defaultRequest", limits.get("default"))
            _extend(limits, "defaultRequest", limits.get("min"))


def _extend(limits: Object, key: str, more: dict[str, str] | None) -> None:
    if more:
        amounts = {**more, **(limits.get(key) or {})}
        put(limits, key, dict(sorted(amounts.items())), _LIMITS_TAIL)


def set_quota_defaults(quota: Object) -> None:
    """Round amounts up to what the API can express."""
    round_up(quota["spec"], "hard")
    round_up(quota["status"], "hard", "used")


class LimitRangeStrategy(Strategy):
    """Write rules of limit ranges: one without a name gets one."""

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        if not obj["metadata"].get("name"):
            obj["metadata"]["name"] = new_uuid()


LIMIT_RANGE = KindRecord(
    group="",
    kind="LimitRange",
    strategy=LimitRangeStrategy,
    create_on_update=True,
    set_defaults=set_limit_range_defaults,
    validate=validate_limit_range,
)
RESOURCE_QUOTA = KindRecord(
    group="",
    kind="ResourceQuota",
    strategy=ResourceQuotaStrategy,
    set_defaults=set_quota_defaults,
    validate_status=validate_quota_status,
    cells=cells_core.resource_quota,
)

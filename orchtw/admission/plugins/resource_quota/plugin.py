"""ResourceQuota: the writes that concern quotas, and their usage (reference PLUG-25 to PLUG-31)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.configuration import Given
from orchtw.admission.host import AdmissionHost
from orchtw.admission.plugins.resource_quota.charging import UNKNOWN_S, Charging
from orchtw.admission.plugins.resource_quota.configuration import read
from orchtw.quota.amounts import NOTHING, Amounts, growth, texts
from orchtw.quota.evaluators import Evaluators
from orchtw.quota.quotas import AskedUsage, Limited, Quota, Refused
from orchtw.quota.usage import Usage
from orchtw.registry.field_ownership import FieldOwnership
from orchtw.registry.listers.namespace_lister import NamespaceLister
from orchtw.registry.metadata import ordered
from orchtw.registry.stored import Prepared
from orchtw.schema.catalogue import ResourceType
from orchtw.storage.store import Op, WriteOutcome
from orchtw.values.times import rfc3339
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object


class ResourceQuota:
    """Plugin ResourceQuota; `limited` are the resources that may only be used under a quota."""

    def __init__(self, evaluators: Evaluators, charging: Charging, limited: Sequence[Limited]) -> None:
        self._evaluators = evaluators
        self._charging = charging
        self._quotas = charging.quotas
        self._limited = limited

    @classmethod
    def of(cls, host: AdmissionHost, given: Given | None) -> ResourceQuota:
        """Return the plugin, backed by the server's quotas. Raises ConfigError."""
        stored = host.targets.stored_target("", "v1", "resourcequotas").stored
        charging = Charging(
            partial(NamespaceLister, stored, Quota.of),
            Statuses(host, time.time).write,
            host.unsettled,
            host.clock,
            host.offload.run,
            UNKNOWN_S if host.counts_quotas else 0.0,
        )
        return cls(Evaluators(host.naming), charging, read(given))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates of counted resources in namespaces, and updates of those that can grow."""
        if subresource or not resource.namespaced or operation not in ("CREATE", "UPDATE"):
            return False
        evaluator = self._evaluators.of((resource.group, resource.plural))
        return evaluator is not None and (operation == "CREATE" or evaluator.grows)

    async def validate(self, attributes: Attributes) -> None:
        """Charge the write. Raises Forbidden (403) if it does not fit, Conflict (409) and InternalError (500)."""
        limited = self._rules(attributes.resource) if self._limited else ()
        if not limited and not self._quotas.has(attributes.namespace):
            return
        asked = await self._asked(attributes, limited)
        try:
            await self._charging.charge(
                attributes.namespace, asked, attributes.on_end, dry_run=attributes.dry_run
            )
        except Refused as refused:
            raise attributes.forbidden(str(refused)) from None

    def _rules(self, resource: ResourceType) -> Sequence[Limited]:
        return [each for each in self._limited if (each.group, each.plural) == (resource.group, resource.plural)]

    async def _asked(self, attributes: Attributes, limited: Sequence[Limited]) -> AskedUsage:
        resource, obj, old = attributes.resource, attributes.obj or {}, attributes.old
        evaluator = self._evaluators.of((resource.group, resource.plural))
        assert evaluator is not None

        def measure() -> tuple[Usage, Usage | None, set[str]]:
            return evaluator.usage(obj), None if old is None else evaluator.usage(old), evaluator.missing(obj)

        usage, before, missing = await attributes.surface.run(attributes.size_bytes, measure)
        used = usage.amounts(0)
        return AskedUsage(
            evaluator=evaluator,
            usage=usage,
            used=used,
            grows=growth(used, NOTHING if before is None else before.amounts(0)),
            missing=missing,
            limited=limited,
            before=before,
        )


class Statuses:
    """Writer of the usage of quotas, as the server itself; `now` is the time in seconds since the epoch."""

    def __init__(self, host: AdmissionHost, now: Callable[[], float]) -> None:
        self._target = host.targets.stored_target("", "v1", "resourcequotas")
        self._store = host.store
        self._run = host.offload.run
        self._manager = host.naming.api_server
        self._ownership = FieldOwnership(host.targets, host.naming)
        self._now = now

    async def write(self, entry: Entry, used: Amounts) -> WriteOutcome:
        """Store the new usage of some entries of a quota, unless it has changed since `entry`."""
        prepared = await self._run(len(entry.raw), lambda: self._prepared(entry, used))
        key = self._target.stored.prefix + entry.key
        return await self._store.commit(Op(key, prepared.value, entry.revision, prepared))

    def _prepared(self, entry: Entry, used: Amounts) -> Prepared:
        stored = self._target.stored
        live = stored.load(entry)
        known: dict[str, str] = live["status"].get("used") or {}
        all_used = dict(sorted({**known, **texts(used)}.items()))
        new: Object = {**live, "status": {**live["status"], "used": all_used}}
        fields = self._ownership.of(self._target, "status")
        owners = fields.on_update(live, new, self._manager, rfc3339(int(self._now())))
        meta = {key: value for key, value in live["metadata"].items() if key != "managedFields"}
        new["metadata"] = ordered({**meta, "managedFields": owners} if owners else meta)
        return stored.prepare(new)

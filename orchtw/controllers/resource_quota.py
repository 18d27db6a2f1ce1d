"""The quota controller: says of each quota what is used of it (reference CTRL-33, CTRL-47, CTRL-48)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.client.informer import Informer, Reflector
from orchtw.client.interface import Item, Resource
from orchtw.client.work_queue import Backoff, Retry
from orchtw.controllers.controller import Controller, Host
from orchtw.controllers.quota_tallies import Tally, Uses
from orchtw.errors import Conflict, NotFound
from orchtw.objects import Object
from orchtw.quota.amounts import NOTHING, ZERO, Amount, Amounts, amounts, growth, same, texts, total
from orchtw.quota.evaluators import Evaluators, Home
from orchtw.quota.quotas import Quota
from orchtw.quota.scopes import requirements_of
from orchtw.quota.usage import Evaluator

DISCOVERY_PERIOD_S: Final = 30.0
LOOK_AGAIN_S: Final = 1.0
"""After a charge, whose object should be there by then."""
LOST_S: Final = 0.02
"""After another writer was faster."""


@attrs.frozen(slots=True, eq=False)
class Known:
    """One quota as it was last seen: what its spec limits, and of which resources; what its status says is used."""

    quota: Quota
    homes: frozenset[Home]
    used: Amounts
    is_counted: bool

    @classmethod
    def of(cls, obj: Object, evaluators: Evaluators) -> Known:
        """The quota of an object."""
        spec, status = obj["spec"], obj.get("status") or {}
        hard = spec.get("hard") or {}
        quota = Quota(
            name=obj["metadata"]["name"], hard=amounts(hard), used=NOTHING, scopes=requirements_of(spec)
        )
        homes = frozenset(home for home in map(evaluators.home, hard) if home is not None)
        return cls(quota, homes, amounts(status.get("used")), (status.get("hard") or {}) == hard)


class ResourceQuotaController(Controller):
    """Keys are those of quotas; of the other resources only those are followed that quotas limit.

    What has been charged for a write on its way is not taken back, though there is no object yet: `Host.unsettled`
    says it of this process' writes, and of those of others it is taken to be so for `Host.foreign_charges_s`.
    """

    name = "resourcequota"
    account = "resourcequota-controller"
    backoff: ClassVar[Backoff] = Backoff(first_s=0.005, limit_s=30.0)
    _log = Logger()

    def __init__(self, host: Host, concurrency: int, resync_s: float) -> None:
        super().__init__(host, concurrency)
        self._evaluators = Evaluators(host.naming)
        self._quotas = self.client.resource("", "v1", "resourcequotas")
        self._informer = Informer(self.client, self._quotas, host.clock, host.random, resync_s=resync_s)
        self._informer.handle(self._seen)
        self._known: dict[str, dict[str, Known]] = {}
        self._wanted: Counter[Home] = Counter()
        self._tallies: dict[Home, Tally] = {}
        self._served: Mapping[Home, Resource] = {}
        self._raised: dict[str, list[tuple[float, Amounts]]] = {}
        self._discovering: Deferred[None] | None = None
        self._next_discovery: IDelayedCall | None = None
        self._leave_discovery: Callable[[], None] | None = None

    @property
    def sources(self) -> Sequence[Informer | Reflector]:
        """Quotas, and what they limit."""
        return (self._informer, *(tally.reflector for tally in self._tallies.values()))

    @property
    def synced(self) -> bool:
        """Whether all quotas have been seen."""
        return self._informer.synced

    def startService(self) -> None:
        """Find out what is served, then follow the quotas."""
        self._discover()
        self._leave_discovery = self.client.follow_discovery(self._discover_soon)
        super().startService()

    def stopService(self) -> Deferred[None]:
        """See `Controller`."""
        if self._leave_discovery is not None:
            self._leave_discovery()
        if self._next_discovery is not None and self._next_discovery.active():
            self._next_discovery.cancel()
        if self._discovering is not None:
            self._discovering.cancel()
        return super().stopService()

    def _discover(self) -> None:
        self._next_discovery = self.host.clock.callLater(DISCOVERY_PERIOD_S, self._discover)
        self._discovering = Deferred.fromCoroutine(self._find_served())
        self._discovering.addErrback(self._not_discovered)

    def _discover_soon(self) -> None:
        """In the next turn."""
        if self._next_discovery is not None and self._next_discovery.active():
            self._next_discovery.reset(0)

    def _not_discovered(self, failure: Failure) -> None:
        """The next period tries again."""
        if not isinstance(failure.value, CancelledError):
            self._log.failure("discovery failed", failure)

    async def _find_served(self) -> None:
        """Take over what is served; quotas of what has come or gone are due."""
        found = (await self.client.discover()).resources
        before = self._served
        self._served = {
            (each.group, each.plural): each for each in found if each.namespaced and each.allows("list", "watch")
        }
        changed = {home for home, _ in before.items() ^ self._served.items()} & self._wanted.keys()
        for home in changed & self._tallies.keys():
            self._tallies.pop(home).reflector.stop()
        for namespace, quotas in self._known.items() if changed else ():
            for name, known in quotas.items():
                if known.homes & changed:
                    self.queue.add(f"{namespace}/{name}")

    def _seen(self, old: Item | None, new: Item | None) -> None:
        """Note what a quota says. A new one is due, and one whose spec has changed; after a charge there is time."""
        if new is None:
            assert old is not None
            self._forget(old.namespace, old.name)
            return
        known = Known.of(new.load(), self._evaluators)
        before = self._exchange(new.namespace, new.name, known)
        if before is None or not known.is_counted or old is new:
            self.queue.add(new.key)
            return
        if self.host.foreign_charges_s and (more := growth(known.used, before.used)):
            self._raised.setdefault(new.key, []).append((self.host.clock.seconds(), more))
        self.queue.add_after(new.key, LOOK_AGAIN_S)

    def _forget(self, namespace: str, name: str) -> None:
        self._exchange(namespace, name, None)
        self._raised.pop(f"{namespace}/{name}", None)
        if not self._known.get(namespace):
            self._known.pop(namespace, None)
            for tally in self._tallies.values():
                tally.forget(namespace)

    def _exchange(self, namespace: str, name: str, known: Known | None) -> Known | None:
        """Note what a quota says, and stop following what no quota limits any more; returns what it has said."""
        quotas = self._known.setdefault(namespace, {})
        before = quotas.pop(name, None)
        if known is not None:
            quotas[name] = known
            self._wanted.update(known.homes)
        if before is not None:
            self._wanted.subtract(before.homes)
            for home in [home for home in before.homes if not self._wanted[home]]:
                del self._wanted[home]
                if home in self._tallies:
                    self._tallies.pop(home).reflector.stop()
        return before

    def _told(self, home: Home) -> Callable[[str, bool], None]:
        """What a tally calls: credits are given at once, what is new has been charged already."""

        def told(namespace: str, less: bool) -> None:
            for name, known in self._known.get(namespace, {}).items():
                if home in known.homes:
                    key = f"{namespace}/{name}"
                    if less:
                        self.queue.add(key)
                    else:
                        self.queue.add_after(key, LOOK_AGAIN_S)

        return told

    def _tally(self, home: Home) -> Tally | None:
        """The tally of a resource; None: it is not served."""
        found, resource = self._tallies.get(home), self._served.get(home)
        evaluator = self._evaluators.of(home)
        if found is None and resource is not None and evaluator is not None:
            host = self.host
            found = Tally(self.client, resource, evaluator, host.clock, host.random, self._told(home))
            self._tallies[home] = found
            found.reflector.start()
        return found

    async def reconcile(self, key: str) -> float | None:
        """Write what is limited and used into the status, if it is not there."""
        namespace, _, name = key.partition("/")
        known = self._known.get(namespace, {}).get(name)
        if known is None:
            return None
        tallies = [tally for tally in map(self._tally, sorted(known.homes)) if tally is not None]
        if not all(tally.reflector.synced for tally in tallies):
            raise Retry("what is limited has not been listed")
        uses = [(await tally.uses(namespace), tally.evaluator) for tally in tallies]
        item = await self.client.find(self._quotas, namespace, name)
        if item is None:
            return None
        live = item.load()
        known = Known.of(live, self._evaluators)
        counted, until = self._counted(known.quota, uses)
        used, waits = self._kept(key, known, counted)
        if not known.is_counted or not same(used, known.used):
            live["status"] = {"hard": dict(live["spec"].get("hard") or {}), "used": texts(used)}
            try:
                await self.client.update(self._quotas, namespace, name, live, "status")
            except Conflict:
                return LOST_S
            except NotFound:
                return None
        if waits:
            return LOOK_AGAIN_S
        return None if until is None else max(until - self.host.now(), 0.0) + LOOK_AGAIN_S

    def _counted(
        self, quota: Quota, uses: Sequence[tuple[Uses, Evaluator]]
    ) -> tuple[Amounts, float | None]:
        """What is used as far as there is anybody who knows, and when that becomes less by itself."""
        found: dict[str, Amount] = {}
        ends: list[float] = []
        now = self.host.now()
        for of_one, evaluator in uses:
            used, until = of_one.used(quota, evaluator, now)
            found.update(used)
            if until is not None:
                ends.append(until)
        return found, min(ends, default=None)

    def _kept(self, key: str, known: Known, counted: Amounts) -> tuple[Amounts, bool]:
        """What is to be said of use: nothing is taken back that may be on its way; whether there is such."""
        pending = self._pending(key)
        found: dict[str, Amount] = {}
        waits = False
        for name in known.quota.hard:
            before, count = known.used.get(name), counted.get(name)
            if count is None:
                if before is not None:
                    found[name] = before
                continue
            least = count.nanos + pending.get(name, ZERO).nanos
            if before is not None and before.nanos > count.nanos and least > count.nanos:
                waits = True
                count = Amount(min(before.nanos, least), count.family if count.nanos else before.family)
            found[name] = count
        return found, waits

    def _pending(self, key: str) -> Amounts:
        namespace, _, name = key.partition("/")
        found = self.host.unsettled.of((namespace, name))
        raised = self._raised.get(key)
        if raised:
            since = self.host.clock.seconds() - self.host.foreign_charges_s
            raised[:] = [(at, more) for at, more in raised if at >= since]
            for _, more in raised:
                found = total(found, more)
        return found

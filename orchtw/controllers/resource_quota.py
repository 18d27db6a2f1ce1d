"""Quota controller: publishes the usage of each quota (reference CTRL-33, CTRL-47, CTRL-48)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import ClassVar, Final

import msgspec
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.client.informer import Informer, Reflector
from orchtw.client.interface import Item, Resource
from orchtw.client.work_queue import Backoff, Retry
from orchtw.controllers.controller import Controller, ControllerHost
from orchtw.controllers.quota_tallies import Tally, Uses
from orchtw.errors import Conflict, NotFound
from orchtw.quota.amounts import ZERO, Amount, Amounts, amount, growth, texts, total
from orchtw.quota.evaluators import Evaluators, Home
from orchtw.quota.scopes import requirements_of
from orchtw.watch.entry import LARGE_BYTES
from orchtw.wire.objects import Object

DISCOVERY_PERIOD_S: Final = 30.0
LOOK_AGAIN_S: Final = 1.0
"""Delay after a charge, whose object should exist by then."""
LOST_S: Final = 0.02
"""Delay after a conflict with another writer."""


NAMES_AT_A_TIME: Final = 1000
"""Entries of one quota that are looked up in one turn: a millisecond or two."""


class Known:
    """Quota as last seen. `homes` are its entries by the resource that they limit, once looked up."""

    def __init__(self, obj: Object) -> None:
        status = obj.get("status") or {}
        self.spec: Object = obj["spec"]
        self.hard: Mapping[str, str] = self.spec.get("hard") or {}
        self.used: Mapping[str, str] = status.get("used") or {}
        self.is_counted = (status.get("hard") or {}) == self.hard
        self.scopes = requirements_of(self.spec)
        self.homes: Mapping[Home | None, Sequence[str]] | None = None

    def limits(self, home: Home) -> bool:
        """Report whether it is known to limit a resource."""
        return self.homes is not None and home in self.homes


class Said(msgspec.Struct, frozen=True):
    """Status of a quota; `waits`: some usage will be known soon; `is_new`: it is not published yet."""

    used: Mapping[str, str]
    waits: bool
    is_new: bool

    @classmethod
    def of(cls, known: Known, counted: Amounts, pending: Amounts, homes: Collection[Home]) -> Said:
        """Make the status; usage that cannot be counted, as it is outside of `homes`, stays as it is.

        Charges for writes in flight, `pending`, are kept.
        """
        found: dict[str, str] = {}
        for home, names in (known.homes or {}).items():
            if home in homes:
                found.update(dict.fromkeys(names, "0"))
            else:
                found.update((name, known.used[name]) for name in names if name in known.used)
        found.update(texts(counted))
        waits = False
        for name, charged in pending.items():
            before, count = amount(known.used.get(name, "0")), counted.get(name, ZERO)
            if name in found and charged.nanos > 0 and before.nanos > count.nanos:
                kept = min(before.nanos, count.nanos + charged.nanos)
                found[name] = Amount(kept, count.family if count.nanos else before.family).text
                waits = True
        is_new = not known.is_counted or _differ(found, known.used)
        return cls(dict(sorted(found.items())) if is_new else found, waits, is_new)


class ResourceQuotaController(Controller):
    """Controller keyed by quotas; of the other resources it follows only those that quotas limit.

    A charge for a write in flight is kept although its object does not exist yet: `ControllerHost.unsettled` knows
    the writes of this process, and those of other processes count for `ControllerHost.foreign_charges_s`.
    """

    name = "resourcequota"
    account = "resourcequota-controller"
    backoff: ClassVar[Backoff] = Backoff(first_s=0.005, limit_s=30.0)
    _log = Logger()

    def __init__(self, host: ControllerHost, concurrency: int, resync_s: float) -> None:
        super().__init__(host, concurrency)
        self._evaluators = Evaluators(host.naming)
        self._quotas = self.client.resource("", "v1", "resourcequotas")
        self._informer = Informer(self.client, self._quotas, host.clock, host.random, host.turns, resync_s=resync_s)
        self._informer.handle(self._seen)
        self._known: dict[str, dict[str, Known]] = {}
        self._wanted: Counter[Home] = Counter()
        self._tallies: dict[Home, Tally] = {}
        self._served: dict[Home, Resource] = {}
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
        """Report whether all quotas have been seen."""
        return self._informer.synced

    def startService(self) -> None:
        """Find out what is served, then follow the quotas."""
        self._discover()
        self._leave_discovery = self.client.follow_discovery(self._resources_changed)
        super().startService()

    def stopService(self) -> Deferred[None]:
        """Stop counting, as a `Controller`."""
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

    def _not_discovered(self, failure: Failure) -> None:
        """Log a failed discovery; the next period tries again."""
        if not isinstance(failure.value, CancelledError):
            self._log.failure("discovery failed", failure)

    async def _find_served(self) -> None:
        """Take over all that is served."""
        found = (await self.client.discover()).resources
        self._resources_changed(tuple(set(self._served.values()) - set(found)), found)

    def _resources_changed(self, gone: Sequence[Resource], come: Sequence[Resource]) -> None:
        """Take over what is served; quotas of what has come or gone are due."""
        changed: set[Home] = set()
        for resource in gone:
            if self._served.pop((resource.group, resource.plural), None) is not None:
                changed.add((resource.group, resource.plural))
        for resource in come:
            home = resource.group, resource.plural
            is_limited = resource.namespaced and resource.allows("list", "watch")
            if is_limited and self._served.get(home) != resource:
                self._served[home] = resource
                changed.add(home)
        changed &= self._wanted.keys()
        for home in changed & self._tallies.keys():
            self._tallies.pop(home).reflector.stop()
        for namespace, quotas in self._known.items() if changed else ():
            for name, known in quotas.items():
                if any(map(known.limits, changed)):
                    self.queue.add(f"{namespace}/{name}")

    def _seen(self, old: Item | None, new: Item | None) -> None:
        """Note what a quota says. A new one is due, and one whose spec has changed; after a charge there is time.

        What others have charged before this process began to look may be on its way as well. Large ones are read when
        they are looked at.
        """
        if new is None:
            assert old is not None
            self._forget(old.namespace, old.name)
            return
        before = self._known.get(new.namespace, {}).get(new.name)
        if new.size_bytes > LARGE_BYTES:
            is_due = before is None or old is new
        else:
            known = self._note(new, new.load())
            is_due = known.homes is None or not known.is_counted or old is new
        if is_due:
            self.queue.add(new.key)
        else:
            self.queue.add_after(new.key, LOOK_AGAIN_S)

    def _note(self, item: Item, obj: Object) -> Known:
        known = Known(obj)
        before = self._exchange(item.namespace, item.name, known)
        if self.host.foreign_charges_s:
            if more := _raised(known.used, {} if before is None else before.used):
                self._raised.setdefault(item.key, []).append((self.host.clock.seconds(), more))
        return known

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
        if before is not None and before.homes is not None:
            if known is not None and known.spec == before.spec:
                known.homes = before.homes
            else:
                self._leave(filter(None, before.homes))
        return before

    def _leave(self, homes: Iterable[Home]) -> None:
        for home in homes:
            self._wanted[home] -= 1
            if not self._wanted[home]:
                del self._wanted[home]
                if home in self._tallies:
                    self._tallies.pop(home).reflector.stop()

    async def _look_up(self, item: Item, known: Known) -> bool:
        """Find out which of a quota's entries limit which resource; False: it limits others by now."""
        found: dict[Home | None, list[str]] = {}
        for count, name in enumerate(known.hard, 1):
            found.setdefault(self._evaluators.home(name), []).append(name)
            if count % NAMES_AT_A_TIME == 0:
                await deferLater(self.host.clock, 0)
        now = self._known.get(item.namespace, {}).get(item.name)
        if now is None or now.spec != known.spec:
            return False
        now.homes = known.homes = found
        self._wanted.update(filter(None, found))
        return True

    def _told(self, home: Home) -> Callable[[str, bool], None]:
        """Return the callback of a tally: credits count at once, new usage has been charged already."""

        def told(namespace: str, less: bool) -> None:
            for name, known in self._known.get(namespace, {}).items():
                if known.limits(home):
                    key = f"{namespace}/{name}"
                    if less:
                        self.queue.add(key)
                    else:
                        self.queue.add_after(key, LOOK_AGAIN_S)

        return told

    def _tally(self, home: Home) -> Tally | None:
        """Return the tally of a resource; None: it is not served."""
        found, resource = self._tallies.get(home), self._served.get(home)
        evaluator = self._evaluators.of(home)
        if found is None and resource is not None and evaluator is not None:
            host = self.host
            found = Tally(self.client, resource, evaluator, host.clock, host.random, host.turns, self._told(home))
            self._tallies[home] = found
            found.reflector.start()
        return found

    async def reconcile(self, key: str) -> float | None:
        """Write what is limited and used into the status, if it is not there."""
        namespace, _, name = key.partition("/")
        item = await self.client.find(self._quotas, namespace, name)
        if item is None:
            return None
        live = await self.host.run(item.size_bytes, item.load)
        if key not in self._informer.items:
            return None
        known = self._note(item, live)
        if known.homes is None and not await self._look_up(item, known):
            return 0.0
        assert known.homes is not None
        found = {home: self._tally(home) for home in known.homes if home is not None}
        tallies = {home: tally for home, tally in found.items() if tally is not None}
        if not all(tally.reflector.synced for tally in tallies.values()):
            raise Retry("the limited resources have not been listed")
        uses = {home: await tally.uses(namespace) for home, tally in tallies.items()}
        counted, until = self._counted(known, uses)
        pending, size = self._pending(key), item.size_bytes
        said = await self.host.run(size, lambda: Said.of(known, counted, pending, uses.keys()))
        if said.is_new:
            live["status"] = {"hard": dict(known.hard), "used": said.used}
            try:
                await self.client.update(self._quotas, namespace, name, live, "status")
            except Conflict:
                return LOST_S
            except NotFound:
                return None
        if said.waits:
            return LOOK_AGAIN_S
        return None if until is None else max(until - self.host.now(), 0.0) + LOOK_AGAIN_S

    def _counted(self, known: Known, uses: Mapping[Home, Uses]) -> tuple[Amounts, float | None]:
        """Return the usage, and when it shrinks by itself."""
        found: dict[str, Amount] = {}
        ends: list[float] = []
        now = self.host.now()
        for each in uses.values():
            used, until = each.used(known.hard, known.scopes, now)
            found.update(used)
            if until is not None:
                ends.append(until)
        return found, min(ends, default=None)

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


def _raised(new: Mapping[str, str], old: Mapping[str, str]) -> Amounts:
    """Return the increase of each use."""
    changed = {name: amount(text) for name, text in new.items() if text != old.get(name)}
    return growth(changed, {name: amount(old.get(name, "0")) for name in changed})


def _differ(new: Mapping[str, str], old: Mapping[str, str]) -> bool:
    """Report whether amounts differ, however they are written."""
    if new.keys() != old.keys():
        return True
    return any(text != old[name] and amount(text).nanos != amount(old[name]).nanos for name, text in new.items())

"""Leader election: only the controller host that holds a Lease works (reference CTRL-4)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any

import msgspec
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.client.event_recorder import EventRecorder
from orchtw.client.fencing import Tenure
from orchtw.client.informer import Informer
from orchtw.client.interface import Client, Item
from orchtw.client.vital_signs import VitalSigns
from orchtw.errors import AlreadyExists, NotFound, StatusError
from orchtw.storage.store import KeptValue
from orchtw.watch.turns import ReactorTurns
from orchtw.wire.objects import Object

JITTER = 1.2
"""Factor by which candidates may exceed the retry period, so that they do not compete at the same time."""

REWRITE_SHARE = 2 / 3
"""Fraction of a Lease's duration between its writes: 10 s of 15, which are six writes a minute."""

MOST_SHOWN = 100
"""Limit of a holder's name in the log: it may have been written by any user with access."""

MOST_TRANSITIONS = 2**31 - 1
"""Limit of a Lease's transition counter; beyond it the Lease can still be taken."""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The Lease and its times. A leader renews every `retry_period_s`, and gives up after `renew_deadline_s`.

    Others take over `lease_duration_s` after the last renewal they saw, by their own clock. `name` is that of the
    Lease, `identity` the holder's name in it.
    """

    identity: str
    namespace: str
    name: str
    lease_duration_s: float = 15.0
    renew_deadline_s: float = 10.0
    retry_period_s: float = 2.0

    @property
    def rewrite_s(self) -> float:
        """Interval of Lease writes if renewals are shown by other signs: shorter than its duration."""
        return self.lease_duration_s * REWRITE_SHARE


class LeaderElector:
    """One campaign: takes the Lease, renews it, and reports both ends of being the leader.

    `started` is called when the Lease is held, `lost` in the turn in which its loss is known: it has another holder,
    or could not be renewed in time. The campaign is over then. `tenure` is the right to write that comes with the
    Lease, and ends before `lost` is called. `group` is the API group of Leases, `now` the time in seconds since the
    epoch for them. `events` record the start of the leadership.

    With `signs` a renewal is a sign of life, and the Lease itself is written only periodically, for clients without
    access to these signs. Without them, each renewal is a write of the Lease.
    """

    _log = Logger()

    def __init__(
        self,
        client: Client,
        terms: Terms,
        clock: IReactorTime,
        random: Random,
        turns: ReactorTurns | None,
        *,
        group: str,
        now: Callable[[], float],
        events: EventRecorder,
        tenure: Tenure,
        started: Callable[[], None],
        lost: Callable[[], None],
        signs: VitalSigns | None = None,
    ) -> None:
        self.leading = False
        self._client = client
        self._terms = terms
        self._clock = clock
        self._random = random
        self._group = group
        self._leases = client.resource(group, "v1", "leases")
        self._now = now
        self._events = events
        self._tenure = tenure
        self._on_started = started
        self._on_lost = lost
        self._signs = signs
        self._sign: KeptValue | None = None
        self._seen: Any = None
        self._seen_at = self._written_at = 0.0
        self._next: IDelayedCall | None = None
        self._expiry: IDelayedCall | None = None
        self._trying: Deferred[None] | None = None
        self._lease: Object = {}
        self._telling: Deferred[None] | None = None
        self._stopped = True
        self._follower = Informer(client, self._leases, clock, random, turns, name=terms.name)
        self._follower.handle(self._lease_seen)

    def start(self) -> None:
        """Become a candidate for leadership."""
        self._stopped = False
        self._try()

    async def stop(self) -> None:
        """Stop being a candidate; a leader releases the Lease, so that others need not wait for its expiry."""
        led = self.leading
        self._end()
        if led:
            await self._release()

    def _end(self) -> None:
        self._stopped = True
        self.leading = False
        self._tenure.end()
        self._follower.stop()
        for call in (self._next, self._expiry):
            if call is not None and call.active():
                call.cancel()
        for work in (self._trying, self._telling):
            if work is not None:
                work.cancel()

    def _lose(self, why: str) -> None:
        identity, name = self._terms.identity, self._terms.name
        self._end()
        self._log.critical("{identity} lost the lease {name}: {why}", identity=identity, name=name, why=why)
        self._on_lost()
        if self._sign is not None:
            Deferred.fromCoroutine(self._sign.end()).addErrback(_refused)

    def _try(self) -> None:
        self._next = None
        self._trying = Deferred.fromCoroutine(self._attempt())
        self._trying.addErrback(self._failed)

    def _failed(self, failure: Any) -> None:
        if not failure.check(CancelledError):
            self._log.failure("leader election failed", failure)
            self._settle(None, 0.0)

    async def _attempt(self) -> None:
        began = self._clock.seconds()
        held = None
        try:
            held = await (self._renew() if self.leading else self._acquire())
        except StatusError as error:
            self._log.info("failed to acquire lease {name}: {error}", name=self._terms.name, error=error)
        self._settle(held, began)

    def _settle(self, held: bool | None, began: float) -> None:
        """Act on the outcome of an attempt that started at `began` (None: unknown), and schedule the next."""
        self._trying = None
        if self._stopped:
            return
        if held:
            self._extend(began + self._terms.renew_deadline_s)
            if not self.leading:
                self._lead()
        elif held is False and self.leading:
            self._lose("another candidate holds it")
            return
        spread = 1.0 if self.leading else 1.0 + (JITTER - 1.0) * self._random.random()
        self._next = self._clock.callLater(self._terms.retry_period_s * spread, self._try)

    def _extend(self, until: float) -> None:
        """Extend the Lease until then. An attempt may hang for longer than that, so a timer watches over it."""
        self._tenure.extend(until)
        if self._expiry is not None and self._expiry.active():
            self._expiry.cancel()
        left_s = max(0.0, until - self._clock.seconds())
        self._expiry = self._clock.callLater(left_s, self._expire)

    def _expire(self) -> None:
        self._lose(f"it could not be renewed for {self._terms.renew_deadline_s:g} s")

    def _lead(self) -> None:
        identity = self._terms.identity
        self.leading = True
        self._log.info("{identity} became leader", identity=identity)
        self._telling = Deferred.fromCoroutine(self._tell(f"{identity} became leader"))
        self._telling.addErrback(_cancelled)
        self._follower.start()
        self._on_started()

    def _lease_seen(self, old: Item | None, new: Item | None) -> None:
        """Note a change of the Lease's holder; after a deletion, create it again if no other is faster."""
        item = new or old
        if self._stopped or item is None or item.namespace != self._terms.namespace:
            return
        if new is None:
            self._hasten()
            return
        holder = _spec(new.load()).get("holderIdentity") or ""
        if holder == self._terms.identity:
            self._tenure.moved(int(new.version))
        else:
            self._lose(f"it is held by {holder[:MOST_SHOWN]!r}" if holder else "it was released")

    def _hasten(self) -> None:
        """Write the Lease with the next attempt, in the next turn."""
        self._written_at = float("-inf")
        if self._next is not None and self._next.active():
            self._next.reset(0)

    async def _acquire(self) -> bool:
        """Take the Lease unless its holder is alive. Raises StatusError, also when another was faster."""
        lease = await self._read()
        if lease is None:
            return await self._create() and await self._signed()
        spec = _spec(lease)
        self._observe(spec)
        holder = spec.get("holderIdentity") or ""
        if holder and holder != self._terms.identity and await self._lives(holder, spec):
            return False
        return await self._write(lease) and await self._signed()

    async def _renew(self) -> bool:
        """Renew the Lease; False: another has it. Raises StatusError, also when the outcome is unknown."""
        if self._sign is None:
            return await self._rewrite()
        if not await self._sign.renew():
            self._sign = None
            return await self._rewrite() and await self._signed()
        if self._clock.seconds() < self._written_at + self._terms.rewrite_s:
            return True
        try:
            return await self._rewrite()
        except StatusError as error:
            self._log.info("failed to update lease {name}: {error}", name=self._terms.name, error=error)
            return True  # among our own servers the sign of life counts

    async def _lives(self, holder: str, spec: Object) -> bool:
        """Report whether a holder has renewed in time, by our own clock, or shows a sign of life."""
        duration_s = float(spec.get("leaseDurationSeconds") or self._terms.lease_duration_s)
        if self._clock.seconds() < self._seen_at + duration_s:
            return True
        return self._signs is not None and await self._signs.seen(holder)

    async def _signed(self) -> bool:
        """Give the sign of life, if signs are used."""
        if self._signs is not None:
            self._sign = await self._signs.give(self._terms.identity, self._terms.lease_duration_s)
        return True

    async def _rewrite(self) -> bool:
        """Write the Lease again, if it is ours; create a missing one."""
        lease = await self._read()
        if lease is None:
            return await self._create()
        return _spec(lease).get("holderIdentity") == self._terms.identity and await self._write(lease)

    async def _read(self) -> Object | None:
        try:
            return await self._client.get(self._leases, self._terms.namespace, self._terms.name)
        except NotFound:
            return None

    async def _write(self, lease: Object) -> bool:
        """Take or renew the Lease, in the state that was read."""
        spec, time = _spec(lease), _micro_time(self._now())
        mine = spec.get("holderIdentity") == self._terms.identity
        transitions = spec.get("leaseTransitions") or 0
        if not mine:
            transitions = min(transitions + 1, MOST_TRANSITIONS)
        lease["spec"] = self._spec(spec.get("acquireTime", time) if mine else time, time, transitions)
        terms = self._terms
        self._held(await self._client.update(self._leases, terms.namespace, terms.name, lease))
        return True

    async def _create(self) -> bool:
        terms, time = self._terms, _micro_time(self._now())
        lease = {"metadata": {"name": terms.name, "namespace": terms.namespace}, "spec": self._spec(time, time, 0)}
        try:
            stored = await self._client.create(self._leases, terms.namespace, lease)
        except AlreadyExists:
            return False
        self._held(stored)
        return True

    def _held(self, lease: Object) -> None:
        self._lease = lease
        self._written_at = self._clock.seconds()
        self._tenure.moved(int(lease["metadata"]["resourceVersion"]))
        self._observe(lease["spec"])

    async def _tell(self, message: str) -> None:
        """Record an Event about the Lease (reference CTRL-5)."""
        metadata = self._lease["metadata"]
        involved = {"kind": "Lease", "apiVersion": f"{self._group}/v1"}
        involved |= {name: metadata[name] for name in ("namespace", "name", "uid", "resourceVersion")}
        await self._events.record(involved, "Normal", "LeaderElection", message)

    def _observe(self, spec: Object) -> None:
        """Note when the Lease was last seen to change, by our own clock: clocks of hosts differ."""
        if spec != self._seen:
            self._seen = spec
            self._seen_at = self._clock.seconds()

    def _spec(self, acquired: str, renewed: str, transitions: int) -> Object:
        return {
            "holderIdentity": self._terms.identity,
            "leaseDurationSeconds": max(1, int(self._terms.lease_duration_s)),
            "acquireTime": acquired,
            "renewTime": renewed,
            "leaseTransitions": transitions,
        }

    async def _release(self) -> None:
        terms = self._terms
        try:
            lease = await self._read() or {}
            if _spec(lease).get("holderIdentity") == terms.identity:
                lease["spec"] = {**_spec(lease), "holderIdentity": "", "leaseDurationSeconds": 1}
                await self._client.update(self._leases, terms.namespace, terms.name, lease)
            if self._sign is not None:
                await self._sign.end()
        except StatusError as error:
            self._log.info("failed to release lease {name}: {error}", name=terms.name, error=error)


def _spec(lease: Object) -> Object:
    """Return the spec of a Lease, which other writers may have left out."""
    spec: Object = lease.get("spec") or {}
    return spec


def _refused(failure: Failure) -> None:
    failure.trap(StatusError)  # type: ignore[no-untyped-call]


def _cancelled(failure: Failure) -> None:
    failure.trap(CancelledError)  # type: ignore[no-untyped-call]


def _micro_time(time_s: float) -> str:
    """Return the API's MicroTime of a time."""
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

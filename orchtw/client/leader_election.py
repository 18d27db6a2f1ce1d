"""One of several controller hosts works at a time: the one that holds a Lease (reference CTRL-4)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.client.event_recorder import EventRecorder
from orchtw.client.interface import Client
from orchtw.errors import AlreadyExists, NotFound, StatusError
from orchtw.objects import Object

JITTER = 1.2
"""Candidates wait up to that much longer than the retry period, so that they do not come at once."""

MOST_TRANSITIONS = 2**31 - 1
"""A Lease counts its changes of hand up to there; one that somebody filled can still be taken."""


@attrs.frozen(slots=True, kw_only=True)
class Terms:
    """The lease and its times. A leader renews every `retry_period_s` and gives up after `renew_deadline_s` without.

    Others take over `lease_duration_s` after the last renewal they saw, by their own clock.
    """

    identity: str
    namespace: str
    name: str
    lease_duration_s: float = 15.0
    renew_deadline_s: float = 10.0
    retry_period_s: float = 2.0


class LeaderElector:
    """Takes the lease, renews it, and reports both ends of being the leader.

    `started` is called when the lease is ours, `lost` when it could not be kept; after `lost` the candidate is
    done, as the process is expected to end. `group` is the API group of Leases, `now` the time in seconds since the
    epoch that is written into them. Becoming the leader is told by `events`.
    """

    _log = Logger()

    def __init__(
        self,
        client: Client,
        terms: Terms,
        clock: IReactorTime,
        random: Random,
        *,
        group: str,
        now: Callable[[], float],
        events: EventRecorder,
        started: Callable[[], None],
        lost: Callable[[], None],
    ) -> None:
        self.leading = False
        self._client = client
        self._terms = terms
        self._clock = clock
        self._random = random
        self._group = group
        self._now = now
        self._events = events
        self._on_started = started
        self._on_lost = lost
        self._seen: Any = None
        self._seen_at = 0.0
        self._renewed_at = 0.0
        self._next: IDelayedCall | None = None
        self._trying: Deferred[None] | None = None
        self._lease: Object = {}
        self._telling: Deferred[None] | None = None
        self._stopped = True

    def start(self) -> None:
        """Become a candidate."""
        self._stopped = False
        self._try()

    async def stop(self) -> None:
        """Stop being a candidate; a leader releases the lease, so that nobody need wait for it to expire."""
        self._stopped = True
        if self._next is not None and self._next.active():
            self._next.cancel()
        if self._trying is not None:
            self._trying.cancel()
        if self._telling is not None:
            self._telling.cancel()
        if self.leading:
            self.leading = False
            await self._release()

    def _try(self) -> None:
        self._next = None
        self._trying = Deferred.fromCoroutine(self._attempt())
        self._trying.addErrback(self._failed)

    def _failed(self, failure: Any) -> None:
        if not failure.check(CancelledError):
            self._log.failure("leader election failed", failure)
            self._settle(False)

    async def _attempt(self) -> None:
        held = False
        try:
            held = await self._acquire_or_renew()
        except StatusError as error:
            self._log.info("the lease {name} was not taken: {error}", name=self._terms.name, error=error)
        self._settle(held)

    def _settle(self, held: bool) -> None:
        """Act on the outcome of one attempt, and schedule the next."""
        self._trying = None
        if self._stopped:
            return
        now, terms = self._clock.seconds(), self._terms
        if held:
            self._renewed_at = now
            if not self.leading:
                self.leading = True
                self._log.info("{identity} became leader", identity=terms.identity)
                self._telling = Deferred.fromCoroutine(self._tell(f"{terms.identity} became leader"))
                self._telling.addErrback(_cancelled)
                self._on_started()
        elif self.leading and now - self._renewed_at >= terms.renew_deadline_s:
            self.leading = False
            self._stopped = True
            self._log.critical("{identity} lost the lease {name}", identity=terms.identity, name=terms.name)
            self._on_lost()
            return
        spread = 1.0 if self.leading else 1.0 + (JITTER - 1.0) * self._random.random()
        self._next = self._clock.callLater(terms.retry_period_s * spread, self._try)

    async def _acquire_or_renew(self) -> bool:
        """One attempt; whether the lease is ours now. Raises StatusError, also when another was faster."""
        terms, leases = self._terms, self._client.resource(self._group, "v1", "leases")
        time = _micro_time(self._now())
        try:
            lease = await self._client.get(leases, terms.namespace, terms.name)
        except NotFound:
            return await self._create(time)
        spec = lease.get("spec", {})
        self._observe(spec)
        holder = spec.get("holderIdentity") or ""
        duration_s = float(spec.get("leaseDurationSeconds") or terms.lease_duration_s)
        mine = holder == terms.identity
        if holder and not mine and self._clock.seconds() < self._seen_at + duration_s:
            return False
        transitions = spec.get("leaseTransitions") or 0
        if not mine:
            transitions = min(transitions + 1, MOST_TRANSITIONS)
        lease["spec"] = self._spec(spec.get("acquireTime", time) if mine else time, time, transitions)
        stored = await self._client.update(leases, terms.namespace, terms.name, lease)
        self._held(stored)
        return True

    async def _create(self, time: str) -> bool:
        terms = self._terms
        lease = {"metadata": {"name": terms.name, "namespace": terms.namespace}, "spec": self._spec(time, time, 0)}
        leases = self._client.resource(self._group, "v1", "leases")
        try:
            stored = await self._client.create(leases, terms.namespace, lease)
        except AlreadyExists:
            return False
        self._held(stored)
        return True

    def _held(self, lease: Object) -> None:
        self._lease = lease
        self._observe(lease["spec"])

    async def _tell(self, message: str) -> None:
        """An Event about the Lease (reference CTRL-5)."""
        metadata = self._lease["metadata"]
        involved = {"kind": "Lease", "apiVersion": f"{self._group}/v1"}
        involved |= {name: metadata[name] for name in ("namespace", "name", "uid", "resourceVersion")}
        await self._events.record(involved, "Normal", "LeaderElection", message)

    def _observe(self, spec: Object) -> None:
        """Note when the lease was last seen to change, by our own clock: clocks of hosts differ."""
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
        terms, leases = self._terms, self._client.resource(self._group, "v1", "leases")
        try:
            lease = await self._client.get(leases, terms.namespace, terms.name)
            spec = lease.get("spec", {})
            if spec.get("holderIdentity") == terms.identity:
                lease["spec"] = {**spec, "holderIdentity": "", "leaseDurationSeconds": 1}
                await self._client.update(leases, terms.namespace, terms.name, lease)
        except StatusError as error:
            self._log.info("the lease {name} was not released: {error}", name=terms.name, error=error)


def _cancelled(failure: Failure) -> None:
    failure.trap(CancelledError)  # type: ignore[no-untyped-call]


def _micro_time(time_s: float) -> str:
    """A MicroTime as the API writes it."""
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

"""Controllers of a host, as one service; with leader election they run only on the leader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs
import msgspec
from twisted.application.service import Service
from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.client.event_recorder import EventRecorder
from orchtw.client.fencing import Tenure
from orchtw.client.leader_election import LeaderElector
from orchtw.controllers.certificates.signing import Means
from orchtw.controllers.controller import Controller, ControllerHost, Unhealthy
from orchtw.controllers.election import Election
from orchtw.controllers.service_accounts.token_secrets import LegacyToken

ELECTION_ACCOUNT = "leader-election"


class ManagerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the controllers. `enabled` are names; `signing` holds the authorities that issue certificates.

    `legacy_token` makes tokens for Secrets, which accounts get automatically if `generates_secrets`. `root_ca_pem`
    are the authorities by which accounts verify the server. `pods_first`: everything else in a namespace stays until
    its pods are gone. Generated tokens that were not used for `legacy_token_unused_s` are cleaned up.
    """

    enabled: frozenset[str]
    concurrent_namespace_syncs: int = 10
    concurrent_gc_syncs: int = 20
    namespace_sync_period_s: float = 300.0
    namespace_deletion_grace_period_s: float = 0.0
    pods_first: bool = False
    concurrent_quota_syncs: int = 5
    quota_sync_period_s: float = 300.0
    concurrent_token_syncs: int = 5
    legacy_token: LegacyToken | None = None
    generates_secrets: bool = False
    legacy_token_unused_s: float = 365 * 24 * 3600.0
    root_ca_pem: str = ""
    signing: Means = msgspec.field(default_factory=Means.none)


class Manager(Service):
    """Service that starts the controllers in order and stops them in reverse.

    `make` makes the controllers of a host: a new set for each tenure, so that none begins with old knowledge.
    """

    _log = Logger()

    def __init__(
        self,
        host: ControllerHost,
        make: Callable[[ControllerHost], Iterable[Controller]],
        election: Election | None = None,
    ) -> None:
        self._host = host
        self._make = make
        self._election = election
        self._permitted = True
        self._ending: Deferred[None] | None = None
        self._elector: LeaderElector | None = None
        self.controllers: Sequence[Controller] = ()
        self._renew()

    @property
    def leading(self) -> bool | None:
        """Report whether this process holds the Lease; None: it does not compete for it."""
        return None if self._elector is None else self._elector.leading

    @property
    def lease(self) -> str:
        """Return the store key of the Lease that this process competes for; empty: it does not."""
        return "" if self._election is None else self._election.key

    def startService(self) -> None:
        """Start the controllers, or begin to wait for the lease."""
        super().startService()  # type: ignore[no-untyped-call]
        self._begin()

    def stopService(self) -> Deferred[None]:
        """Stop the controllers; fires when none works any more and the lease is free."""
        super().stopService()  # type: ignore[no-untyped-call]
        return Deferred.fromCoroutine(self._stop())

    def permit(self, permitted: bool) -> None:
        """Let the host work from now on, or stop it in this turn."""
        if permitted == self._permitted:
            return
        self._permitted = permitted
        if permitted:
            self._begin()
        elif self.running and self._ending is None:
            self._begin_anew()

    async def check(self, name: str) -> str | None:
        """Check the controller of that name, as `Controller.check`; one that waits for the lease is healthy."""
        waits = not self._permitted or self._ending is not None
        if waits or (self._elector is not None and not self._elector.leading):
            if not self.running:
                raise Unhealthy("not running")
            return None
        return await next(each for each in self.controllers if each.name == name).check()

    def _renew(self) -> None:
        """Make the controllers that work the next time, and the candidate for it."""
        election, host = self._election, self._host
        if election is None:
            self.controllers = tuple(self._make(host))
            return
        tenure = Tenure(host.clock, election.key)
        self.controllers = tuple(self._make(attrs.evolve(host, tenure=tenure)))
        client = host.client_for(ELECTION_ACCOUNT)
        self._elector = LeaderElector(
            client,
            election.terms,
            host.clock,
            host.random,
            host.turns,
            group=host.naming.group("coordination.orch.io"),
            now=host.now,
            events=EventRecorder(client, host.naming.controller_manager, host.now),
            tenure=tenure,
            started=self._start_all,
            lost=self._lost,
            signs=election.signs,
        )

    def _begin(self) -> None:
        """Begin to work, if that is permitted and the earlier controllers have ended."""
        if not self.running or not self._permitted or self._ending is not None:
            return
        if self._elector is None:
            self._start_all()
        else:
            self._elector.start()

    def _start_all(self) -> None:
        for controller in self.controllers:
            controller.startService()

    def _lost(self) -> None:
        """Stop all controllers in this turn, for the Lease is lost; then end, or be a candidate again."""
        if self._election is not None and self._election.lost is not None:
            _stop_all(self.controllers)
            self._election.lost()
        else:
            self._begin_anew()

    def _begin_anew(self) -> None:
        """End what works, and begin again once it has ended; nothing is begun before the end is known."""
        self._ending = Deferred.fromCoroutine(self._end(self.controllers, self._elector))
        self._ending.addErrback(self._failed)
        self._ending.addCallback(self._ended)

    async def _end(self, controllers: Sequence[Controller], elector: LeaderElector | None) -> None:
        stopping = _stop_all(controllers)
        if elector is not None:
            await elector.stop()
        await DeferredList(stopping)

    def _failed(self, failure: Failure) -> None:
        self._log.failure("the controllers did not stop cleanly", failure=failure)

    def _ended(self, result: None) -> None:
        if self.running:
            self._renew()
            self._ending = None
            self._begin()

    async def _stop(self) -> None:
        if self._ending is not None:
            await self._ending
        else:
            await DeferredList(_stop_all(self.controllers))
            if self._elector is not None:
                await self._elector.stop()


def _stop_all(controllers: Sequence[Controller]) -> list[Deferred[None]]:
    """Stop those that run, in reverse; in this turn none takes anything up any more."""
    return [controller.stopService() for controller in reversed(controllers) if controller.running]

"""The controllers that a host runs, as one service; with leader election only while it is the leader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs
from twisted.application.service import Service
from twisted.internet.defer import Deferred

from orchtw.client.event_recorder import EventRecorder
from orchtw.client.leader_election import LeaderElector, Terms
from orchtw.controllers.certificates.signing import Means
from orchtw.controllers.controller import Controller, Host, Unhealthy
from orchtw.controllers.service_accounts.token_secrets import LegacyToken

ELECTION_ACCOUNT = "leader-election"


@attrs.frozen(slots=True, kw_only=True)
class Settings:
    """The controllers' flags. `enabled` are names; `signing` is what certificates are issued with.

    `legacy_token` makes tokens for Secrets, which accounts get by themselves if `generates_secrets`.
    `root_ca_pem` are the authorities that accounts know the server by.
    `election` is None when this host need not be elected.
    """

    enabled: frozenset[str]
    concurrent_namespace_syncs: int = 10
    concurrent_gc_syncs: int = 20
    namespace_sync_period_s: float = 300.0
    concurrent_quota_syncs: int = 5
    quota_sync_period_s: float = 300.0
    concurrent_token_syncs: int = 5
    legacy_token: LegacyToken | None = None
    generates_secrets: bool = False
    root_ca_pem: str = ""
    signing: Means = attrs.field(factory=Means.none)
    election: Terms | None = None


class Manager(Service):
    """Starts the controllers in their order and stops them in reverse.

    `lost` is called when the lease has been lost: the host must end, for another one works now.
    """

    def __init__(
        self, host: Host, controllers: Iterable[Controller], election: Terms | None = None,
        lost: Callable[[], None] | None = None,
    ) -> None:
        self.controllers: Sequence[Controller] = tuple(controllers)
        self._elector: LeaderElector | None = None
        if election is not None:
            client = host.client_for(ELECTION_ACCOUNT)
            self._elector = LeaderElector(
                client,
                election,
                host.clock,
                host.random,
                group=host.naming.group("coordination.orch.io"),
                now=host.now,
                events=EventRecorder(client, host.naming.controller_manager, host.now),
                started=self._start_all,
                lost=lost or self._nobody,
            )

    @property
    def leading(self) -> bool | None:
        """Whether this process holds the lease; None: it does not ask for it."""
        return None if self._elector is None else self._elector.leading

    def startService(self) -> None:
        """Work, or wait for the lease."""
        super().startService()  # type: ignore[no-untyped-call]
        if self._elector is None:
            self._start_all()
        else:
            self._elector.start()

    def stopService(self) -> Deferred[None]:
        """Fires when no controller works any more and the lease is free."""
        super().stopService()  # type: ignore[no-untyped-call]
        return Deferred.fromCoroutine(self._stop())

    async def check(self, controller: Controller) -> str | None:
        """A controller's health check: one that waits for the lease is well. See `Controller.check`."""
        if self._elector is not None and not self._elector.leading:
            if not self.running:
                raise Unhealthy("not running")
            return None
        return await controller.check()

    def _start_all(self) -> None:
        for controller in self.controllers:
            controller.startService()

    async def _stop(self) -> None:
        for controller in reversed(self.controllers):
            if controller.running:
                await controller.stopService()
        if self._elector is not None:
            await self._elector.stop()

    @staticmethod
    def _nobody() -> None:
        """The host has nothing to end."""

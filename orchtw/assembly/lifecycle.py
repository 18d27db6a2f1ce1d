"""Start and end of a server's parts, in order (reference OPS-13, OPS-14)."""

from __future__ import annotations

from typing import Final, Protocol

import msgspec
from twisted.internet.task import deferLater

from orchtw.assembly.aggregation import Aggregation
from orchtw.assembly.faults import Faults
from orchtw.assembly.flow_control import Limiting
from orchtw.assembly.foundation import Foundation
from orchtw.assembly.history import Recording
from orchtw.assembly.membership import Membership
from orchtw.assembly.readiness import Readiness
from orchtw.audit.auditor import Auditor
from orchtw.authz.live_roles import LiveRoles
from orchtw.controllers.apiextensions.controller import DefinitionController

DELIVERY_S: Final = 2.0
"""Longest wait of the shutdown for watchers to receive the last events."""
_LOOK_S: Final = 0.01


class StateKeeper(Protocol):
    """Keeper of the state after the start, if `--enable-state-control` asks for one."""

    async def begin(self) -> None:
        """Keep the present state, once nothing is left to do for it."""


class Lifecycle(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The parts that are started and stopped; every one of them is made by then."""

    base: Foundation
    membership: Membership
    readiness: Readiness
    aggregation: Aggregation
    roles: LiveRoles
    limiting: Limiting
    auditor: Auditor | None
    definitions: DefinitionController | None
    faults: Faults | None
    state: StateKeeper | None = None
    record: Recording | None = None

    async def start(self) -> None:
        """Open the store, fill the caches and make what every cluster has, if that is this process' task.

        Raises ConfigError for a store that is damaged or in use.
        """
        # 1. The store and the caches: everything else reads them.
        await self.base.resources.start()
        # 2. Followers of the store and of caches, before the first write: none may miss a change.
        if self.record is not None:
            await self.record.recorder.start(self.base.resources.cacher.revision)
        self.aggregation.api_services.open()
        self.roles.follow()
        if self.limiting.control is not None:
            self.limiting.control.live.follow()
        self.readiness.caches_filled()
        # 3. Membership and bootstrap write, and authorization reads the roles that they make.
        await self.membership.start()
        # 4. Controllers, definitions and other services, which find the bootstrap objects there.
        self.base.services.startService()  # type: ignore[no-untyped-call]
        if self.auditor is not None:
            self.auditor.start()
        if self.definitions is not None:
            await self.definitions.settled()
        # 5. The first state is kept before a client can change it.
        if self.state is not None:
            await self.state.begin()
        # 6. Requests are let in last: by now every path that the store knows of is served.
        self.readiness.services_started()
        self.membership.doors.open = True

    def begin_shutdown(self) -> None:
        """Tell load balancers by `/readyz` that the end is near; everything is still served.

        Requests that fault rules hold up go on: the shutdown waits for them.
        """
        self.readiness.begin_shutdown()
        if self.faults is not None:
            self.faults.end()
        self.membership.stop()

    def close_doors(self) -> None:
        """Send new requests elsewhere, if `--shutdown-send-retry-after` says so."""
        self.membership.doors.closed = True

    async def end_watches(self) -> None:
        """End all watches in good order; those that start from now on end at once.

        Clients that read have a moment to see what has happened (reference OPS-14).
        """
        cacher, reactor = self.base.resources.cacher, self.base.reactor
        until = reactor.seconds() + DELIVERY_S
        while not cacher.delivered and reactor.seconds() < until:
            await deferLater(reactor, _LOOK_S)
        cacher.end_watches()

    async def stop(self) -> None:
        """End the upkeep, write the last audit events, and end the controllers, the caches and the store.

        The store commits what was accepted.
        """
        # 1. Nothing writes for the cluster any more.
        self.membership.stop()
        # 2. The last audit events leave while outbound connections still work.
        if self.auditor is not None:
            await self.auditor.stop()
        # 3. Controllers end before the store that they write to.
        await self.base.services.stopService()  # type: ignore[no-untyped-call]
        await self.base.resources.stop()

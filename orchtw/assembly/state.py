"""Control of the whole state, joined to the parts of the server that a restore concerns; imported only if the flags
ask for it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from typing import Any

import msgspec

from orchtw.assembly.flow_control import Limiting
from orchtw.assembly.foundation import Foundation
from orchtw.assembly.identity import Identity
from orchtw.authz.live_roles import LiveRoles
from orchtw.bootstrap.server_identity import LEASES
from orchtw.client.work_queue import WorkQueue
from orchtw.controllers.apiextensions.controller import DefinitionController
from orchtw.controllers.controller import Controller
from orchtw.controllers.manager import Manager
from orchtw.endpoints.state import State
from orchtw.snapshots.snapshots import START
from orchtw.snapshots.state_control import StateControl, StateHost
from orchtw.writes.admissions import Admissions
from orchtw.writes.gate import WriteGate


class StateParts(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Parts of the server whose work a restore interrupts, or waits for."""

    gate: WriteGate
    manager: Manager
    identity: Identity
    definitions: DefinitionController | None
    admissions: Admissions
    roles: LiveRoles
    limiting: Limiting


def state_control(base: Foundation, parts: StateParts) -> StateControl:
    """Return the control of the state."""

    def controllers() -> Iterator[Controller]:
        yield from parts.manager.controllers
        if parts.definitions is not None:
            yield parts.definitions

    def queues() -> Sequence[WorkQueue[Any]]:
        return [controller.queue for controller in controllers()]

    return StateControl(
        StateHost(
            store=base.resources.store,
            cacher=base.resources.cacher,
            targets=base.resources.targets,
            gate=parts.gate,
            clock=base.reactor,
            now=time.time,
            queues=queues,
            synced=lambda: all(controller.synced for controller in controllers()),
            renewed=lambda: _renewed(base, parts),
            in_force=_in_force(parts),
        )
    )


def endpoint(control: StateControl) -> State:
    """Return the endpoint by which administrators use it."""
    return State(control, START)


def _renewed(base: Foundation, parts: StateParts) -> Collection[str]:
    """Return the keys of this server's own Leases."""
    naming, server = base.resources.naming, parts.identity.server
    group, version, plural = LEASES
    stored = base.resources.targets.stored(naming.group(group), version, plural)
    own = stored.prefix + stored.tail(naming.system_namespace, server) if server else ""
    return [key for key in (parts.manager.lease, own) if key]


def _in_force(parts: StateParts) -> Sequence[Callable[[], Awaitable[None]]]:
    """Return the waits for parts that may be behind their caches."""
    waits: list[Callable[[], Awaitable[None]]] = [parts.roles.large.done, parts.admissions.in_force]
    if parts.definitions is not None:
        waits.append(parts.definitions.caught_up)
    if parts.limiting.control is not None:
        waits.append(parts.limiting.control.live.in_force)
    return waits

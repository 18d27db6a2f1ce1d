"""Bootstrap objects, created at the start and maintained by one process of the cluster (reference CTRL-6, OPS-8)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from twisted.internet.interfaces import IReactorTime

from orchtw.bootstrap.api_services import Registration
from orchtw.bootstrap.ensurer import Ensurer
from orchtw.bootstrap.extension_apiserver_authentication import (
    AuthenticationInfo,
    publish_authentication_info,
)
from orchtw.bootstrap.flow_control import keep_flow_objects
from orchtw.bootstrap.legacy_tokens import LegacyTokenTracking
from orchtw.bootstrap.priority_classes import create_priority_classes
from orchtw.bootstrap.rbac import reconcile_roles
from orchtw.bootstrap.server_service import ServerService
from orchtw.bootstrap.system_namespaces import create_namespaces
from orchtw.bootstrap.upkeep import Step, Upkeep
from orchtw.flowcontrol.conditions import Conditions

REPAIR_INTERVAL_S = 175.0
"""Interval between repairs of reservations, each of which comes with a pass of the upkeep: three minutes."""

STEPS = (
    "bootstrap-controller",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "start-cluster-authentication-info-controller",
    "orch-apiserver-autoregistration",
)
"""Start steps that make objects, in the order in which they run."""

TRACKING = "start-legacy-token-tracking-controller"
"""The step after them that says since when uses of tokens in Secrets are tracked, where they are."""


def steps_of(gates: Mapping[str, bool]) -> Sequence[str]:
    """Return the steps under these states of the feature gates."""
    return (*STEPS, TRACKING) if gates["LegacyServiceAccountTokenTracking"] else STEPS


class Bootstrap:
    """The steps, the server's Service in the first of them, and the account of addresses and ports (CTRL-9).

    `info` is what extension servers are to know at present; `registration` makes the APIServices; `conditions` says
    of flow schemas whether their levels are there, None: nobody does. `ended` gives what
    is told after each try of a step. While this server `may` not, it makes nothing: others look after the cluster.
    Features whose gate is off in `gates` get no rules in roles.
    """

    def __init__(
        self,
        ensurer: Ensurer,
        service: ServerService,
        info: Callable[[], AuthenticationInfo],
        registration: Registration,
        tracking: LegacyTokenTracking,
        ended: Callable[[str], Callable[[bool], None]],
        clock: IReactorTime,
        conditions: Conditions | None,
        may: Callable[[], bool],
        gates: Mapping[str, bool],
    ) -> None:
        self._may = may
        self._gates = gates
        self._ensurer = ensurer
        self._conditions = conditions
        self._registration = registration
        self._service = service
        self._clock = clock
        self._next_repair = clock.seconds()
        self._has_roles = False
        runs: Sequence[Callable[[], Awaitable[None]]] = (
            self._namespaces_and_service,
            self._roles,
            partial(create_priority_classes, ensurer),
            self._flow_control,
            lambda: publish_authentication_info(ensurer, info()),
            registration.run,
            tracking.look,
        )
        names = (*STEPS, TRACKING)
        shown = steps_of(gates)
        steps = [
            Step(name=name, run=run, ended=ended(name) if name in shown else _untold)
            for name, run in zip(names, runs, strict=True)
        ]
        self._upkeep = Upkeep(steps, clock, may)

    async def start(self) -> None:
        """Carry out all steps, then look after what they made."""
        self._registration.follow()
        await self._upkeep.start()

    def stop(self) -> None:
        """Cancel the next look."""
        self._registration.stop()
        self._upkeep.stop()

    def look_soon(self) -> None:
        """Look now: what is to be made has changed."""
        self._upkeep.look_soon()

    async def point(self) -> None:
        """Let the endpoints of the servers' Service name those that are alive."""
        if self._may():
            await self._service.point(self._ensurer)

    async def _namespaces_and_service(self) -> None:
        await create_namespaces(self._ensurer)
        if self._clock.seconds() >= self._next_repair:
            await self._ensurer.targets.repair_reservations()
            self._next_repair = self._clock.seconds() + REPAIR_INTERVAL_S
        await self._service.publish(self._ensurer)

    async def _flow_control(self) -> None:
        await keep_flow_objects(self._ensurer)
        if self._conditions is not None:
            await self._conditions.tell()

    async def _roles(self) -> None:
        """Once in a process: what an administrator takes away stays away until the next start (reference ROLE-2)."""
        if not self._has_roles:
            await reconcile_roles(self._ensurer, self._gates)
            self._has_roles = True


def _untold(success: bool) -> None:
    """Tell no check of a step: it only clears up."""

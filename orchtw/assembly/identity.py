"""Identity of a server towards others: its Lease, and its StorageVersions (CTRL-40, VER-19)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from uuid import uuid4

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.bootstrap.ensurer import Ensurer
from orchtw.bootstrap.server_identity import ServerIdentity
from orchtw.bootstrap.storage_versions import Unstated, publish, states_versions
from orchtw.config import Config
from orchtw.errors import StatusError

VERSIONS_S: Final = 600.0
RETRY_S: Final = 1.0


class Duty(msgspec.Struct, frozen=True):
    """Something to say again every `period_s`."""

    run: Callable[[], Awaitable[None]]
    period_s: float


class Identity:
    """Says everything once, in order, when it is started, so that it is said before the first request is answered.

    `ensurer` has the names and the write path; nothing is said unless the feature gates ask for it.
    """

    _log = Logger()

    def __init__(self, config: Config, ensurer: Ensurer, clock: IReactorTime) -> None:
        self._clock = clock
        self._calls: dict[Duty, IDelayedCall] = {}
        self._stopped = False
        self.server = _server_of(config, ensurer)
        """Name of this server's Lease in the system's namespace; empty: it has none."""
        self.unstated: Unstated | None = None
        """Resources whose versions are yet to be said; None: nothing is said of versions."""
        if states_versions(config.generic.gates, ensurer.naming, ensurer.targets):
            self.unstated = Unstated(ensurer.targets)
        self._duties = _duties(config, ensurer, self.server, self.unstated)

    async def start(self) -> None:
        """Say everything; what the store does not take is said again soon."""
        for duty in self._duties:
            await self._do(duty)

    def stop(self) -> None:
        """Stop renewing and publishing."""
        self._stopped = True
        for call in self._calls.values():
            if call.active():
                call.cancel()

    async def _do(self, duty: Duty) -> None:
        period_s = duty.period_s
        try:
            await duty.run()
        except StatusError as error:
            self._log.warn("failed to publish this server's identity: {why}", why=error.message)
            period_s = min(period_s, RETRY_S)
        if not self._stopped:
            self._calls[duty] = self._clock.callLater(period_s, self._again, duty)

    def _again(self, duty: Duty) -> None:
        Deferred.fromCoroutine(self._do(duty)).addErrback(self._failed)

    def _failed(self, failure: Failure) -> None:
        self._log.failure("this server's identity is no longer published", failure=failure)


def _server_of(config: Config, ensurer: Ensurer) -> str:
    if config.worker or not config.generic.gates["APIServerIdentity"]:
        return ""
    return f"{ensurer.naming.api_server}-{uuid4()}"


def _duties(config: Config, ensurer: Ensurer, server: str, unstated: Unstated | None) -> Sequence[Duty]:
    """Return the duties, the Lease first: what is said by a server without one is collected."""
    if not server:
        return ()
    writes = ensurer.writes
    duration_s = config.identity.duration_seconds
    identity = ServerIdentity(ensurer, server, duration_s, writes.now)
    duties = [
        Duty(identity.renew, config.identity.renew_interval_seconds),
        Duty(identity.collect, duration_s),
    ]
    if unstated is not None:
        duties.append(Duty(lambda: publish(ensurer, server, writes.timestamp, unstated), VERSIONS_S))
    return duties

"""Health checks: the registry of named checks, and their kinds (reference OPS-7)."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime

from orchtw.naming.naming import Naming

HEALTHZ, LIVEZ, READYZ = "healthz", "livez", "readyz"
EVERYWHERE = frozenset({HEALTHZ, LIVEZ, READYZ})
STORE_TIMEOUT_S = 2.0
# Time in seconds without a successful flush after which the log counts as blocked.
LOG_BLOCKED_S = 120.0


Run = Callable[[], Awaitable[str | None]]


class CheckFailed(Exception):
    """Failure of a check; its text is shown on the check's own path and in the log."""


class Underway(CheckFailed):
    """Temporary failure whose text, the progress so far, is also shown in the list of all checks."""


class Condition(msgspec.Struct):
    """Check that fails with `reason` unless `met`, such as `shutdown` once the server is stopping."""

    reason: str
    met: bool = False

    async def __call__(self) -> None:
        """Raise CheckFailed unless met."""
        if not self.met:
            raise CheckFailed(self.reason)


class StartStep(Condition):
    """Check of a start step (post-start hook), which is retried if it fails, for example because of a full disk.

    A failed attempt does not justify a restart of the process: `/livez` only requires that the step has been `tried`,
    and not even that until the condition `after` is met. `progress` describes the progress of a long step.
    """

    reason: str = "not finished"
    tried: bool = False
    after: Condition | None = None
    progress: Callable[[], object] | None = None

    async def __call__(self) -> None:
        """Raise CheckFailed, or Underway with the progress, unless met."""
        if not self.met and self.progress is not None and (progress := self.progress()) is not None:
            raise Underway(f"{self.reason}: {progress}")
        await super().__call__()

    def ended(self, *, done: bool) -> None:
        """Note the end of an attempt; `done`: it succeeded."""
        self.tried = True
        self.met = self.met or done

    async def alive(self) -> None:
        """Raise CheckFailed if the step could have been tried but was not."""
        if not (self.tried or self.met) and (self.after is None or self.after.met):
            raise CheckFailed(self.reason)


def flush_output() -> None:
    """Flush stdout, where a server in the foreground logs; a daemon's log file is flushed after every line."""
    if sys.__stdout__ is not None:
        sys.__stdout__.flush()


class LogFlow:
    """Check `log`: calls `flush`, and fails if it has not succeeded for LOG_BLOCKED_S."""

    def __init__(self, clock: IReactorTime, flush: Callable[[], None] = flush_output) -> None:
        self._clock = clock
        self._flush = flush
        self._flushed_at = clock.seconds()

    async def __call__(self) -> None:
        """Raise CheckFailed if the last successful flush is too long ago."""
        now = self._clock.seconds()
        try:
            self._flush()
        except OSError:
            if now - self._flushed_at > LOG_BLOCKED_S:
                raise CheckFailed("logging blocked") from None
        else:
            self._flushed_at = now


def filled(caches: Condition, damaged: Callable[[], int], progress: Callable[[], object]) -> Run:
    """Return the check `informer-sync`, which fails with `progress` until the `caches` are filled.

    Once it passes, its remark is the number of `damaged` stored objects that were set aside.
    """

    async def run() -> str | None:
        if not caches.met:
            raise Underway(f"{caches.reason}: {progress() or 'the store is being opened'}")
        count = damaged()
        return f"damaged objects set aside: {count} (the log names them)" if count else None

    return run


def dependency_check(name: str, check: Callable[[], Awaitable[None]]) -> Run:
    """Return the check of a service that the store depends on; `check` raises on failure."""

    async def run() -> None:
        try:
            await check()
        except Exception as error:
            raise CheckFailed(f"{name}: {error}") from error

    return run


def store_check(check: Callable[[], Any], clock: IReactorTime, timeout_s: float = STORE_TIMEOUT_S) -> Run:
    """Return the check `etcd`: the store's coroutine function `check` or `alive`, limited to `timeout_s`."""

    async def within_time() -> None:
        try:
            await Deferred.fromCoroutine(check()).addTimeout(timeout_s, clock)
        except TimeoutError as error:
            raise CheckFailed("error getting data from etcd: context deadline exceeded") from error
        except Exception as error:
            raise CheckFailed(f"error getting data from etcd: {error}") from error

    return within_time


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """Named check, the endpoints that include it, and whether `/livez` ignores it during the grace period (`graced`).

    `run` raises an exception with the reason of a failure; a string that it returns is shown in verbose responses.
    """

    name: str
    run: Run
    endpoints: frozenset[str] = EVERYWHERE
    graced: bool = False


class Checks:
    """Health checks in the order of their addition, which is the order of verbose responses."""

    def __init__(self, naming: Naming) -> None:
        self._naming = naming
        self._checks: list[Check] = []

    def add(self, name: str, run: Run, endpoints: frozenset[str] = EVERYWHERE) -> None:
        """Add a check. Raises ValueError if one of the endpoints has a check of that name."""
        self._add(Check(name=name, run=run, endpoints=endpoints))

    def condition(
        self, name: str, reason: str, *, met: bool = False, endpoints: frozenset[str] = EVERYWHERE
    ) -> Condition:
        """Add and return a check that fails with `reason` until its `met` is set."""
        condition = Condition(reason, met)
        self._add(Check(name=name, run=condition, endpoints=endpoints))
        return condition

    def hook(self, name: str, after: Condition | None = None) -> StartStep:
        """Add and return the check of a start step, which must be told when the step has `ended`.

        `name` is in the neutral vocabulary. The step can begin once `after` is met.
        """
        step, name = StartStep(after=after), f"poststarthook/{self._naming.translate(name)}"
        self._add(Check(name=name, run=step, endpoints=EVERYWHERE - {LIVEZ}, graced=True))
        self._add(Check(name=name, run=step.alive, endpoints=frozenset({LIVEZ}), graced=True))
        return step

    def of(self, endpoint: str) -> tuple[Check, ...]:
        """Return the checks of `endpoint`."""
        return tuple(check for check in self._checks if endpoint in check.endpoints)

    def _add(self, check: Check) -> None:
        if any(other.name == check.name and other.endpoints & check.endpoints for other in self._checks):
            raise ValueError(f"two health checks are named {check.name}")
        self._checks.append(check)

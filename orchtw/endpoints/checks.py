"""Health checks, their order, and the kinds of check that are more than a condition (reference OPS-7)."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import attrs
from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime

from orchtw.naming.names import Naming

HEALTHZ, LIVEZ, READYZ = "healthz", "livez", "readyz"
EVERYWHERE = frozenset({HEALTHZ, LIVEZ, READYZ})
STORE_TIMEOUT_S = 2.0
# The log counts as blocked when nothing could be flushed for this long.
LOG_BLOCKED_S = 120.0


Run = Callable[[], Awaitable[str | None]]


class CheckFailed(Exception):
    """A check's reason to fail; it is shown on the check's own path and in the log."""


class Underway(CheckFailed):
    """It fails for now, and what it says of how far it is may be seen by all, with the other checks too."""


@attrs.define(slots=True)
class Condition:
    """A check that fails with `reason` unless `met`: a start step until it ended, the shutdown from its beginning."""

    reason: str
    met: bool = False

    async def __call__(self) -> None:
        """Raises CheckFailed unless met."""
        if not self.met:
            raise CheckFailed(self.reason)


@attrs.define(slots=True)
class StartStep(Condition):
    """A start step, which may be `tried` and refused, such as by a full disk: then it is to be tried again.

    That is no reason to end the process, so that `/livez` asks for no more than that it was tried, and for nothing
    until the condition `after` is met, which may take long. `progress` says how far it is, if it takes long itself.
    """

    reason: str = "not finished"
    tried: bool = False
    after: Condition | None = None
    progress: Callable[[], object] | None = None

    async def __call__(self) -> None:
        """Raises CheckFailed unless met."""
        if not self.met and self.progress is not None and (progress := self.progress()) is not None:
            raise Underway(f"{self.reason}: {progress}")
        await super().__call__()

    def ended(self, *, done: bool) -> None:
        """The step was tried; `done`: it has been carried out."""
        self.tried = True
        self.met = self.met or done

    async def alive(self) -> None:
        """Raises CheckFailed before the step has been tried, if it can be."""
        if not (self.tried or self.met) and (self.after is None or self.after.met):
            raise CheckFailed(self.reason)


def flush_output() -> None:
    """Flush the stream that a server in the foreground logs to; a daemon's log file flushes with every line."""
    if sys.__stdout__ is not None:
        sys.__stdout__.flush()


class LogFlow:
    """Check `log`: fails when `flush` has not succeeded for LOG_BLOCKED_S; each check tries it."""

    def __init__(self, clock: IReactorTime, flush: Callable[[], None] = flush_output) -> None:
        self._clock = clock
        self._flush = flush
        self._flushed_at = clock.seconds()

    async def __call__(self) -> None:
        """Raises CheckFailed when the last flush that succeeded is too long ago."""
        now = self._clock.seconds()
        try:
            self._flush()
        except OSError:
            if now - self._flushed_at > LOG_BLOCKED_S:
                raise CheckFailed("logging blocked") from None
        else:
            self._flushed_at = now


def filled(caches: Condition, damaged: Callable[[], int], progress: Callable[[], object]) -> Run:
    """Check `informer-sync`: fails until the `caches` are filled; says how many stored objects they do without.

    `progress` says how far they are.
    """

    async def run() -> str | None:
        if not caches.met:
            raise Underway(f"{caches.reason}: {progress() or 'the store is being opened'}")
        count = damaged()
        return f"damaged objects set aside: {count} (the log names them)" if count else None

    return run


def dependency_check(name: str, check: Callable[[], Awaitable[None]]) -> Run:
    """A check of a service that the store needs, which raises with what is wrong."""

    async def run() -> None:
        try:
            await check()
        except Exception as error:
            raise CheckFailed(f"{name}: {error}") from error

    return run


def store_check(check: Callable[[], Any], clock: IReactorTime, timeout_s: float = STORE_TIMEOUT_S) -> Run:
    """Check `etcd`: one of the store's own coroutine functions `check` and `alive`, given `timeout_s`."""

    async def within_time() -> None:
        try:
            await Deferred.fromCoroutine(check()).addTimeout(timeout_s, clock)
        except TimeoutError as error:
            raise CheckFailed("error getting data from etcd: context deadline exceeded") from error
        except Exception as error:
            raise CheckFailed(f"error getting data from etcd: {error}") from error

    return within_time


@attrs.frozen(slots=True, kw_only=True)
class Check:
    """A check under its name: the endpoints that ask it, and whether `/livez` forgives it for a time after the start.

    `run` raises an exception that tells why the check fails; what it returns, if anything, is for the verbose answer.
    """

    name: str
    run: Run
    endpoints: frozenset[str] = EVERYWHERE
    graced: bool = False


class Checks:
    """The checks in the order in which they were added, which is the order of verbose answers."""

    def __init__(self, naming: Naming) -> None:
        self._naming = naming
        self._checks: list[Check] = []

    def add(self, name: str, run: Run, endpoints: frozenset[str] = EVERYWHERE) -> None:
        """Add a check; ValueError if one of the endpoints has one of that name."""
        self._add(Check(name=name, run=run, endpoints=endpoints))

    def condition(
        self, name: str, reason: str, *, met: bool = False, endpoints: frozenset[str] = EVERYWHERE
    ) -> Condition:
        """Add a check that fails with `reason` until its `met` is set; returns it."""
        condition = Condition(reason, met)
        self._add(Check(name=name, run=condition, endpoints=endpoints))
        return condition

    def hook(self, name: str, after: Condition | None = None) -> StartStep:
        """Add the check of a start step, named in the neutral spelling; tell it when the step `ended`.

        It can begin once `after` is met.
        """
        step, name = StartStep(after=after), f"poststarthook/{self._naming.translate(name)}"
        self._add(Check(name=name, run=step, endpoints=EVERYWHERE - {LIVEZ}, graced=True))
        self._add(Check(name=name, run=step.alive, endpoints=frozenset({LIVEZ}), graced=True))
        return step

    def of(self, endpoint: str) -> tuple[Check, ...]:
        """The checks that `endpoint` asks."""
        return tuple(check for check in self._checks if endpoint in check.endpoints)

    def _add(self, check: Check) -> None:
        if any(other.name == check.name and other.endpoints & check.endpoints for other in self._checks):
            raise ValueError(f"two health checks are named {check.name}")
        self._checks.append(check)

"""Outcome of a container's `exec` probes: when each begins to succeed or to fail (reference SIM-27)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Final

import msgspec

from orchtw.simulation.shell.files import Files
from orchtw.simulation.shell.programs import Surroundings
from orchtw.simulation.shell.session import Foreseen, foreseen
from orchtw.wire.objects import Object

NEVER_S: Final = float("inf")


class Probed(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of the probes of one run, in seconds from its start.

    `started_s` is the time from which the container counts as started, `ready_s` that from which it is ready, `turns`
    the later times at which it ceases to be ready, is ready again, and so on. At `fails_s` probe `failed` ends it.
    """

    started_s: float
    ready_s: float
    turns: tuple[float, ...] = ()
    fails_s: float = NEVER_S
    failed: str = ""


def probed(container: Object, commanded: Foreseen | None, around: Surroundings) -> Probed:
    """Return what the probes of a container come to. Those that cannot be worked out succeed."""
    startup, liveness = container.get("startupProbe"), container.get("livenessProbe")
    readiness = container.get("readinessProbe")
    started_s, fails_s, failed = 0.0, NEVER_S, ""
    if startup is not None:
        turns = _turns(startup, 0.0, commanded, around)
        started_s = next((at for at, good in turns if good), NEVER_S)
        fails_s = next((at for at, good in turns if not good), NEVER_S)
        failed = "Startup"
        if started_s < fails_s:
            fails_s, failed = NEVER_S, ""
        else:
            started_s = NEVER_S
    if liveness is not None and started_s < NEVER_S:
        fails_s = next((at for at, good in _turns(liveness, started_s, commanded, around) if not good), NEVER_S)
        failed = "Liveness" if fails_s < NEVER_S else ""
    if readiness is None:
        return Probed(started_s=started_s, ready_s=started_s, fails_s=fails_s, failed=failed)
    times = _alternating(_turns(readiness, started_s, commanded, around)) if started_s < NEVER_S else ()
    return Probed(
        started_s=started_s,
        ready_s=times[0] if times else NEVER_S,
        turns=times[1:],
        fails_s=fails_s,
        failed=failed,
    )


def _alternating(turns: Sequence[tuple[float, bool]]) -> tuple[float, ...]:
    """Return the times at which a probe that counts as failed at first changes its outcome."""
    times, before = [], False
    for at, good in turns:
        if good != before:
            times.append(at)
            before = good
    return tuple(times)


def _turns(
    probe: Object, start_s: float, commanded: Foreseen | None, around: Surroundings
) -> Sequence[tuple[float, bool]]:
    """Return when a probe that begins at `start_s` reaches a threshold, and with which outcome."""
    first_s = max(start_s, float(probe.get("initialDelaySeconds") or 0))
    period_s = float(probe.get("periodSeconds") or 10)
    needed = {True: int(probe.get("successThreshold") or 1), False: int(probe.get("failureThreshold") or 3)}
    turns: list[tuple[float, bool]] = []
    since_s, before = first_s, None
    for begin_s, good in _outcomes(probe, commanded, around):
        # The first probe that sees this state.
        at_s = first_s + ceil(max(0.0, begin_s - first_s) / period_s) * period_s
        if turns and at_s < turns[-1][0] and good != turns[-1][1]:
            # The state before did not last for as many probes as its threshold demands.
            turns.pop()
        if good != before:
            since_s, before = at_s, good
        reached_s = since_s + (needed[good] - 1) * period_s
        if not turns or turns[-1] != (reached_s, good):
            turns.append((reached_s, good))
    return turns


def _outcomes(probe: Object, commanded: Foreseen | None, around: Surroundings) -> Iterator[tuple[float, bool]]:
    """Yield the outcomes of a probe with the times from which they hold."""
    command = (probe.get("exec") or {}).get("command")
    if not command:
        yield 0.0, True
        return
    limit_s = float(probe.get("timeoutSeconds") or 1)
    changes = () if commanded is None else commanded.files
    texts: dict[str, str | None] = dict.fromkeys(name for _, name, _ in changes)
    yield 0.0, _succeeds(command, texts, limit_s, around, bare=commanded is not None)
    for at_s, name, text in changes:
        texts[name] = text
        yield at_s, _succeeds(command, texts, limit_s, around, bare=True)


def _succeeds(
    command: Sequence[str], texts: Mapping[str, str | None], limit_s: float, around: Surroundings, *, bare: bool
) -> bool:
    files = Files(texts=texts, guesses=True, bare=bare)
    found = foreseen(command, msgspec.structs.replace(around, files=files))
    return found is None or (found.code == 0 and found.length_s <= limit_s)

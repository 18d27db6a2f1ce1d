"""Log lines of a simulated container: worked out from its status, its command and annotations (reference SIM-25)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from orchtw.simulation.pods.plans import RunPlan, plan, roles
from orchtw.simulation.pods.pod_run import STATUSES
from orchtw.values.times import parse_time, time_text
from orchtw.wire.objects import Object

MOST_LINES: Final = 10_000
"""Lines that are kept of a run, the last ones."""


class Unavailable(Exception):
    """Error: there is no such log; the text says why."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a log. `since` is in seconds since the epoch."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    since: float = 0.0
    limit_bytes: int | None = None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a container; `ended_at` is None while it runs. Times in seconds since the epoch."""

    pod: str
    container: str
    plan: RunPlan
    attempt: int
    started_at: float
    ended_at: float | None


def run_of(pod: Object, container: str, *, previous: bool = False) -> Run:
    """Return the run whose log is asked for. Raises Unavailable."""
    name = pod["metadata"]["name"]
    found = next(((role, each) for role, each in roles(pod["spec"]) if each["name"] == container), None)
    if found is None:
        raise Unavailable(f'container "{container}" in pod "{name}" is not available')
    role, spec = found
    statuses = (pod.get("status") or {}).get(STATUSES[role]) or ()
    status: Object = next((each for each in statuses if each["name"] == container), {})
    state, last = status.get("state") or {}, (status.get("lastState") or {}).get("terminated")
    running, ended = state.get("running"), state.get("terminated")
    attempt = int(status.get("restartCount") or 0)
    if previous:
        if last is None:
            raise Unavailable(f'previous terminated container "{container}" in pod "{name}" not found')
        running, ended, attempt = None, last, attempt - ("waiting" not in state)
    elif running is None and ended is None and last is not None:
        ended = last
    shown = running or ended
    if shown is None:
        raise Unavailable(
            f'container "{container}" in pod "{name}" is waiting to start: {_why(state.get("waiting") or {})}'
        )
    started_at = _seconds(shown.get("startedAt"))
    return Run(
        pod=name,
        container=container,
        plan=plan(pod, spec, role, _seconds((pod.get("status") or {}).get("startTime"))),
        attempt=attempt,
        started_at=started_at,
        ended_at=None if ended is None else _seconds(ended.get("finishedAt")),
    )


def lines(run: Run, now: float, after: float = 0.0) -> Iterator[tuple[float, str]]:
    """Yield the lines of a run until now with their times, at most MOST_LINES and the last ones.

    Of lines at a rate, those until `after` may be left out: followers have had them.
    """
    # Times of a status are whole seconds.
    end = now if run.ended_at is None else run.ended_at + 1.0
    wishes = run.plan.wishes
    if wishes.log_lines is None and not wishes.log_rate and run.plan.commanded is not None:
        for at_s, text in run.plan.commanded.output:
            if run.started_at + at_s <= end:
                yield from ((run.started_at + at_s, line) for line in text.splitlines())
        return
    yield run.started_at, f"{run.container} of {run.pod} has started, attempt {run.attempt}"
    for line in (wishes.log_lines or ())[-MOST_LINES:]:
        yield run.started_at, line
    if wishes.log_rate:
        count = int((end - run.started_at) * wishes.log_rate)
        known = int((after - run.started_at) * wishes.log_rate)
        for number in range(max(1, count - MOST_LINES, known), count + 1):
            yield run.started_at + number / wishes.log_rate, f"line {number} of {run.container} of {run.pod}"


def shown(found: list[tuple[float, str]], options: Options) -> bytes:
    """Return lines as the options ask for them; they are selected already."""
    text = "".join(
        f"{_stamp(at)} {line}\n" if options.timestamps else f"{line}\n" for at, line in found
    ).encode()
    return text if options.limit_bytes is None else text[: options.limit_bytes]


def selected(run: Run, options: Options, now: float) -> list[tuple[float, str]]:
    """Return the lines that the options select."""
    found = [each for each in lines(run, now) if each[0] >= options.since]
    if options.tail is None:
        return found
    return found[max(0, len(found) - options.tail) :]


def _stamp(at: float) -> str:
    whole = int(at)
    return f"{(time_text(whole) or '')[:-1]}.{int((at - whole) * 1e9):09}Z"


def _why(waiting: Object) -> str:
    reason = waiting.get("reason", "")
    if reason in ("ErrImagePull", "ImagePullBackOff"):
        return "trying and failing to pull image"
    return str(reason or "ContainerCreating")


def _seconds(text: str | None) -> float:
    return float(parse_time(text)[0]) if text else 0.0

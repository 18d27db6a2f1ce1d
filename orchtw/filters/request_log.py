"""HTTP request log: a line per request at verbosity REQUESTS, traces of slow ones (reference OPS-18, OPS-26)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final

from twisted.logger import Logger

from orchtw.filters.chain import Proceed
from orchtw.filters.plan import Part, Passage
from orchtw.logs.values import VALUES, LogValues
from orchtw.logs.verbosity import REQUESTS, Verbosity
from orchtw.request import Request, Response
from orchtw.values.causes import MAX_SHOWN_CHARACTERS, go_quote

SLOW_S: Final = 0.5
"""Requests that take at least this long are traced."""

_LINE: Final = "HTTP"

LONGEST = MAX_SHOWN_CHARACTERS
"""Maximum number of characters of client input in a field."""


def shown(text: str) -> str:
    """Quote `text`, escaped as by Go's %q, so that a client can forge neither fields nor lines.

    Text longer than LONGEST is truncated, and its length is appended after the quotes.
    """
    return go_quote(text) if len(text) <= LONGEST else f"{go_quote(text[:LONGEST])}...({len(text)} characters)"


class RequestLog:
    """Stage that logs requests. Non-resource URLs are logged without their query, which may hold tokens.

    `seconds` is the clock of `Request.steps`.
    """

    _log = Logger()

    def __init__(self, verbosity: Verbosity, seconds: Callable[[], float] = time.monotonic) -> None:
        self._verbosity = verbosity
        self._seconds = seconds

    async def handle(self, request: Request, proceed: Proceed) -> Response:
        """Log the request when `proceed` returns, which for a stream is when it starts."""
        began = self._seconds()
        response = await proceed(request)
        latency_s = self._seconds() - began
        if latency_s >= SLOW_S and not _may_be_slow(request, response):
            self._trace(request, began, latency_s)
        if self._verbosity.of(__name__) >= REQUESTS:
            self._write(request, response, latency_s)
        return response

    def plan(self, request: Request) -> Part:
        """Hold while requests are not logged; slow ones are traced all the same."""
        info, verbosity = request.info, self._verbosity

        def passed(passage: Passage) -> None:
            if passage.took_s >= SLOW_S:
                passage.request.info = info
                self._trace(passage.request, self._seconds() - passage.took_s, passage.took_s)

        return Part(stands=(lambda: verbosity.of(__name__) < REQUESTS,), passed=passed)

    def _trace(self, request: Request, began: float, latency_s: float) -> None:
        """Log one multi-line event: the total time of the request and the duration of each step."""
        started_at = time.time() - latency_s
        name = f"Trace[{random.getrandbits(31)}]:"
        total = f"{latency_s * 1000:.0f}ms"
        lines = [f"{name} {_what(request)} ({_moment(started_at, date=True)}) (total time: {total}):"]
        before = began
        for at, text in request.steps or ():
            moment = _moment(started_at + at - began)
            lines.append(f'{name} ---"{text}" {(at - before) * 1000:.0f}ms ({moment})')
            before = at
        lines.append(f"{name} [{total}] [{total}] END")
        self._log.info("{trace}", trace="\n".join(lines))

    def _write(self, request: Request, response: Response, latency_s: float) -> None:
        fields = _fields(request, response, latency_s)
        # JSON logs take the values unquoted.
        cut = {name: value if isinstance(value, int) else _cut(value) for name, value in fields.items()}
        told = " ".join(
            f"{name}={value if isinstance(value, int) else shown(value)}" for name, value in fields.items()
        )
        self._log.info("{line}", line=f'"{_LINE}" {told}', **{VALUES: LogValues(_LINE, cut)})


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}...({len(text)} characters)"


def _fields(request: Request, response: Response, latency_s: float) -> dict[str, str | int]:
    fields: dict[str, str | int] = {
        "verb": request.method,
        "URI": _uri(request),
        "latency": f"{latency_s * 1000:.3f}ms",
        "userAgent": request.headers.get("user-agent", ""),
        "audit-ID": request.audit_id,
        "srcIP": f"{request.peer.address}:{request.peer.port}",
    }
    fields |= _flow(request)
    fields["resp"] = response.code
    came, user = request.authenticated, request.user
    if came is not None and user is not None and came is not user:
        # The authenticated and the impersonated user, where they differ (reference AUTHN-43).
        fields |= {"user": came.name, "actingAs": user.name}
    return fields


def _uri(request: Request) -> str:
    info = request.info
    return f"{request.path}?{request.query}" if request.query and info and info.is_resource else request.path


def _what(request: Request) -> str:
    info = request.info
    verb = info.verb.capitalize() if info is not None and info.is_resource else request.method
    headers = request.headers
    return (
        f'{shown(verb)} url:{shown(request.path)},user-agent:{shown(headers.get("user-agent", ""))},'
        f'audit-id:{request.audit_id},client:{request.peer.address},accept:{shown(headers.get("accept", ""))}'
    )


def _may_be_slow(request: Request, response: Response) -> bool:
    """Report whether the request depends on another server or its client and is not traced (reference LIMIT-3)."""
    return response.stream is not None or request.passed_on or request.path.startswith("/debug/pprof/")


def _moment(seconds: float, *, date: bool = False) -> str:
    milliseconds = f".{int(seconds % 1 * 1000):03}"
    return time.strftime("%d-%b-%Y %H:%M:%S" if date else "%H:%M:%S", time.localtime(seconds)) + milliseconds


def _flow(request: Request) -> dict[str, str | int]:
    """Return the fields of priority and fairness: level, flow schema, seats and durations (reference OPS-18)."""
    if request.flow is None:
        return {}
    level, schema = request.flow.names
    found: dict[str, str | int] = {"apf_pl": level, "apf_fs": schema}
    occupied = request.occupied
    if occupied is None:
        return found
    if occupied.limited:
        lingers = occupied.linger_s
        found |= {
            "apf_iseats": occupied.seats,
            "apf_fseats": occupied.seats if lingers else 0,
            "apf_additionalLatency": f"{lingers * 1000:.3f}ms" if lingers else "0s",
        }
    watch = request.info is not None and request.info.verb == "watch"
    found["apf_init_latency" if watch else "apf_execution_time"] = f"{occupied.age_s * 1000:.3f}ms"
    return found

"""Calls of webhooks with retries (reference AUTHN-36)."""

from __future__ import annotations

from random import Random
from typing import Any, Final, Protocol

from twisted.internet.task import deferLater

from orchtw.outbound.caller import ANSWER_BYTES, LATE, CallFailed
from orchtw.outbound.remote import Remote

TRIES: Final = 5
FIRST_S: Final = 0.5
FACTOR: Final = 1.5
JITTER: Final = 0.2

CALL_S: Final = 30.0
"""Time limit of one attempt."""

ALL_S: Final = 60.0
"""Time limit of all attempts; a request does not wait longer."""

_TOO_MANY: Final = 429
_SERVER_ERROR: Final = 500
_LASTING: Final = ("x509:", "tls:", "dial ")
"""Beginnings of errors that a retry does not solve.

A server that is down is not waited for, since requests wait meanwhile.
"""


class Poster(Protocol):
    """The part of a `Caller` that retries need."""

    async def post(
        self, remote: Remote, body: bytes, *, timeout_s: float, left_s: float | None, limit_bytes: int
    ) -> bytes:
        """Post once, as `Caller.post`."""


async def post(
    caller: Poster,
    remote: Remote,
    body: bytes,
    clock: Any,
    random: Random,
    *,
    limit_bytes: int = ANSWER_BYTES,
    first_s: float | None = None,
    all_s: float = ALL_S,
    unanswered_too: bool = False,
) -> bytes:
    """Return the body of a webhook's response, with up to five attempts and growing delays, from `first_s` on.

    A lost connection, a 429 and server errors are retried; a late response and a failed connection only with
    `unanswered_too`: then the request may arrive twice. All attempts take no longer than `all_s`. Raises CallFailed.
    """
    end_s, pause_s = clock.seconds() + all_s, FIRST_S if first_s is None else first_s
    for left in reversed(range(TRIES)):
        try:
            return await caller.post(
                remote, body, timeout_s=CALL_S, left_s=end_s - clock.seconds(), limit_bytes=limit_bytes
            )
        except CallFailed as problem:
            wait_s = pause_s * (1 + JITTER * random.random())
            passes = _passes(problem) or (unanswered_too and not problem.code)
            if not left or not passes or clock.seconds() + wait_s >= end_s:
                raise
        await deferLater(clock, wait_s)
        pause_s *= FACTOR
    raise AssertionError("the last attempt must return or raise")


def _passes(problem: CallFailed) -> bool:
    """Report whether a failure may be temporary."""
    if problem.code:
        return problem.code == _TOO_MANY or problem.code >= _SERVER_ERROR
    return problem.why != LATE and not problem.why.startswith(_LASTING)

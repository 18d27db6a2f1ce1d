"""Calls that are tried again: what a webhook is asked that need not answer the first time (reference AUTHN-36)."""

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
"""For one try."""

ALL_S: Final = 60.0
"""For all of them; a request does not wait longer."""

_TOO_MANY: Final = 429
_SERVER_ERROR: Final = 500
_LASTING: Final = ("x509:", "tls:", "dial ")
"""How troubles begin that another try does not end; who is not there is not waited for, as a request waits for it."""


class Poster(Protocol):
    """Part of a `Caller` that retries need."""

    async def post(
        self, remote: Remote, body: bytes, *, timeout_s: float, left_s: float | None, limit_bytes: int
    ) -> bytes:
        """Post with retries, as `Caller.post`."""


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
    """The body of a webhook's answer, after up to five tries with growing pauses, of which `first_s` is the first.

    Another try follows a lost connection, a 429 and errors of the server; not an answer that is late, nor a
    connection that cannot be made, but with `unanswered_too`: then what is sent may arrive twice. All of them take no
    longer than `all_s`. Raises CallFailed.
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
    raise AssertionError("the last try has returned or raised")


def _passes(problem: CallFailed) -> bool:
    """Report whether a failure may be temporary."""
    if problem.code:
        return problem.code == _TOO_MANY or problem.code >= _SERVER_ERROR
    return problem.why != LATE and not problem.why.startswith(_LASTING)

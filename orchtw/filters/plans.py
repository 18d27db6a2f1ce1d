"""Plans of reads that are asked again and again: answered in a straight line, without passing the stages one by one.

The line of stages remains the truth. A plan is made from a request that has passed all of it, to which each stage
offers its part (see `plan`). Whatever is unusual about a later request sends it the whole way: by then nothing has
been done for it. A plan holds for one caller (the very same headers, credentials included, from one address), one
collection and one query. What it was made from is looked at for every request.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from copy import copy
from sys import getsizeof
from typing import Any, Final, Protocol

import msgspec
from twisted.logger import Logger

from orchtw.errors import StatusError
from orchtw.filters.chain import Placed, Proceed
from orchtw.filters.first_step import Resumed
from orchtw.filters.plan import Look, Part, Passage, Passed, Planning
from orchtw.filters.plan_keys import Key, PlanKeys, plain_name
from orchtw.metrics.series import COUNTER, GAUGE, Read, one
from orchtw.request import Request, Response, is_short
from orchtw.values.uuids import new_uuid
from orchtw.verbs.equal_gets import Body, EqualGets

MOST_PLANS: Final = 4096
MOST_BYTES: Final = 16 << 20
"""Most plans of a process, and most bytes of them; beyond either the oldest is dropped."""

PLAN_BYTES: Final = 7168
"""Bytes of a plan beside its texts: its parts are some twenty closures, and what they hold."""

AUDIT_ID: Final = "Audit-Id"

_PARTS: Final = 2
"""Of the path of a whole object, from the resource on."""


class Handler(Protocol):
    """Handler behind the stages."""

    def plan(self, request: Request) -> EqualGets | None:
        """Return how to answer requests equal to one that has just been answered; None: nothing of it lasts."""


class Plan(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Straight line of equal requests: what to look at, how to answer, and what to count and record.

    `headers` stand before and behind the audit id of the answer, as do `lines`, which are its head as text.
    """

    stands: tuple[Look, ...]
    free: tuple[Look, ...]
    body: Body
    passed: tuple[Passed, ...]
    content_type: str
    headers: tuple[Sequence[tuple[str, str]], Sequence[tuple[str, str]]]
    lines: tuple[str, str]
    size: int


class Plans:
    """Answers requests by plans, and all others by the `line` of `stages`, from whose answers plans are made.

    `handler` stands behind the stages; `seconds` is the reactor's clock.
    """

    _log = Logger()

    def __init__(
        self, line: Proceed, stages: Sequence[Placed], handler: Handler, seconds: Callable[[], float]
    ) -> None:
        self._line = line
        self._stages = tuple(placed.stage for placed in stages)
        self._handler = handler
        self._seconds = seconds
        self._keys = PlanKeys()
        self._plans: dict[Key, Plan] = {}
        self._asked: dict[Key, int] = {}
        self._bytes = 0
        self.answered = 0
        self.on = True
        """False: all requests go the whole way, for tests that compare both."""

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Answer a request, by a plan or the whole way."""
        response = self.at_once(request)
        return self.whole(request) if response is None else _given(response)

    def at_once(self, request: Request) -> Response | None:
        """Return the answer of a plan; None: the request has to go the whole way, nothing has been done for it."""
        key = self._keys.known(request) if self.on else None
        plan = None if key is None else self._plans.get(key)
        if key is None or plan is None:
            return None
        try:
            return self._answer(plan, key, request)
        except StatusError:
            return None  # the whole way refuses it, and counts the refusal
        except Exception:
            self._log.failure("a request plan failed; handling the request normally")
            self._drop(key)
            return None

    def whole(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Answer a request by the line of stages; when it is asked for the second time, a plan is made of it."""
        key = self._keys.of(request) if self.on else None
        if key is None:
            return self._line(request)
        asked = self._asked.get(key, 0) + 1
        self._count(key, asked)
        # Where none can be made, it is tried again after twice as many requests: trying costs as much as a request.
        return self._line(request) if asked == 1 or asked & (asked - 1) else self._learn(request, key)

    def families(self) -> tuple[Read, ...]:
        """Return the metrics of plans."""
        return (
            Read(one(lambda: len(self._plans)), "orchtw_request_plans", GAUGE, "Cached request plans."),
            Read(one(lambda: self._bytes), "orchtw_request_plan_bytes", GAUGE, "Bytes of cached request plans."),
            Read(one(lambda: self.answered), "orchtw_planned_requests_total", COUNTER,
                 "Requests handled by a cached plan."),
        )  # fmt: skip

    def _answer(self, plan: Plan, key: Key, request: Request) -> Response | None:
        began_s = self._seconds()
        for stands in plan.stands:
            if not stands():
                self._drop(key)
                return None
        name = request.path[len(key[1]) :]
        body = plan.body(name) if plain_name(name) else None
        if body is None:
            return None
        for free in plan.free:
            if not free():
                return None
        audit_id = request.audit_id = new_uuid()
        (before, after), (first, last) = plan.headers, plan.lines
        response = Response(
            content_type=plan.content_type,
            body=body,
            headers=[*before, (AUDIT_ID, audit_id), *after],
            lines=f"{first}{audit_id}{last}",
        )
        ended_s = self._seconds()
        passage = Passage(request, response, name, len(body), ended_s, ended_s - began_s)
        for passed in plan.passed:
            passed(passage)
        self.answered += 1
        return response

    # Making

    async def _learn(self, request: Request, key: Key) -> Response:
        """Answer a request the whole way, and make a plan of what it has met there.

        No plan is made if it had to wait: what was found before may have changed by then.
        """
        headers, answer = request.headers, self._line(request)
        try:
            waiting = answer.send(None)
        except StopIteration as done:
            response: Response = done.value
        else:
            return await Resumed(answer, waiting)
        if _is_plain(request, response):
            shown = copy(request)
            shown.headers = headers
            try:
                plan = self._made(shown, response, key)
            except Exception:
                self._log.failure("failed to make a request plan")
            else:
                self._keep(key, plan)
        return response

    def _made(self, request: Request, response: Response, key: Key) -> Plan | None:
        info = request.info
        if info is None or info.verb != "get" or len(info.parts) != _PARTS or key[1] + info.name != request.path:
            return None
        equal, parts = self._handler.plan(request), self._parts(request)
        if equal is None or parts is None:
            return None
        headers = response.headers
        at = headers.index((AUDIT_ID, request.audit_id))
        first, last = _text([("Content-Type", response.content_type), *headers[:at]]), _text(headers[at + 1 :])
        return Plan(
            stands=(*(look for part in parts for look in part.stands), *equal.stands),
            free=tuple(part.free for part in parts if part.free is not None),
            body=equal.body,
            passed=tuple(part.passed for part in reversed(parts) if part.passed is not None),
            content_type=response.content_type,
            headers=(tuple(headers[:at]), tuple(headers[at + 1 :])),
            lines=(f"{first}{AUDIT_ID}: ", f"\r\n{last}"),
            size=PLAN_BYTES + sum(part.size for part in parts) + sum(map(getsizeof, (first, last, key[1], key[2]))),
        )

    def _parts(self, request: Request) -> list[Part] | None:
        """Return the parts of all stages; None if one has nothing to offer."""
        parts: list[Part] = []
        for stage in self._stages:
            part = stage.plan(request) if isinstance(stage, Planning) else None
            if part is None:
                return None
            parts.append(part)
        return parts

    def _keep(self, key: Key, plan: Plan | None) -> None:
        self._drop(key)
        if plan is None:
            return
        self._plans[key] = plan
        self._bytes += plan.size
        while len(self._plans) > MOST_PLANS or self._bytes > MOST_BYTES:
            self._drop(next(iter(self._plans)))

    def _drop(self, key: Key) -> None:
        plan = self._plans.pop(key, None)
        if plan is not None:
            self._bytes -= plan.size
            self._count(key, 1)

    def _count(self, key: Key, asked: int) -> None:
        if key not in self._asked and len(self._asked) >= MOST_PLANS:
            del self._asked[next(iter(self._asked))]
        self._asked[key] = asked


def _is_plain(request: Request, response: Response) -> bool:
    """Report whether a request was answered with 200, without waiting, and with nothing that is its own."""
    return (
        response.code == 200
        and type(response.body) is bytes
        and is_short(response)
        and not (response.listeners or response.upgrade or response.last)
        and not (request.warnings or request.annotations or request.detailed_annotations or request.passed_on)
        and not (request.given_up or request.steps)
        and request.user is request.authenticated
    )


def _text(headers: Sequence[tuple[str, str]]) -> str:
    return "".join(f"{name}: {text}\r\n" for name, text in headers)


async def _given(response: Response) -> Response:
    return response

"""Plans of requests that are asked again and again: gets answered in a straight line, others led past known stages.

The line of stages remains the truth. A plan is made from a get that has passed all of it, to which each stage
offers its part (see `plan`). Whatever is unusual about a later request sends it the whole way: by then nothing has
been done for it. A plan holds for one caller (the very same headers, credentials included, from one address), one
collection and one query. What it was made from is looked at for every request. Requests that no plan can answer have
short lines (see `short_lines`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from copy import copy
from sys import getsizeof
from typing import Any, Final, Protocol

import msgspec
from twisted.logger import Logger

from orchtw.errors import StatusError
from orchtw.filters.chain import Placed, line
from orchtw.filters.first_step import Resumed
from orchtw.filters.plan import Look, Part, Passage, Passed, Planning
from orchtw.filters.plan_keys import Key, Place, PlanKeys, plain_name
from orchtw.filters.short_lines import Handler as LineHandler
from orchtw.filters.short_lines import ShortLine, ShortLines
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

_RECHECKED: Final = 2
"""Plans and lines that are looked at for each one made: all of them have their turn before twice as many exist."""

_PARTS: Final = 2
"""Of the path of a whole object, from the resource on."""


class Handler(LineHandler, Protocol):
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

    def holds(self) -> bool:
        """Report whether all that the plan was made from is unchanged."""
        return all(stands() for stands in self.stands)


class Plans:
    """Answers requests by plans, and all others by the line of `stages`, or a short one.

    `handler` stands behind the stages; `seconds` is the reactor's clock.
    """

    _log = Logger()

    def __init__(
        self, stages: Sequence[Placed], handler: Handler, seconds: Callable[[], float]
    ) -> None:
        self._line = line(stages, self._reached)
        self._short_lines = ShortLines(stages, handler)
        self._stages = tuple(placed.stage for placed in stages)
        self._handler = handler
        self._seconds = seconds
        self._keys = PlanKeys()
        self._plans: dict[Key, Plan] = {}
        self._lines: dict[Place, ShortLine] = {}
        self._asked: dict[Place, int] = {}
        self._learning: _Lesson | None = None
        self._turn: Iterator[Any] = iter(())
        self._bytes = 0
        self.answered = 0
        self.led = 0
        """Requests that went by short lines."""
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
        """Answer a request by a short line or the whole one; the second of its kind is learned from."""
        found = self._keys.place(request) if self.on else None
        if found is None:
            return self._line(request)
        place, name = found
        short = self._lines.get(place)
        if short is not None and not self._holds(short):
            self._drop_line(place)
            short = None
        if short is None or _is_get(place):
            asked = self._asked.get(place, 0) + 1
            self._count(place, asked)
            # What cannot be made is tried again after twice as many requests: trying costs as much as a request.
            if asked > 1 and not asked & (asked - 1):
                return self._learn(request, place)
        if short is None:
            return self._line(request)
        self.led += 1
        return short.go(request, name)

    def families(self) -> tuple[Read, ...]:
        """Return the metrics of plans."""
        return (
            Read(one(lambda: len(self._plans) + len(self._lines)), "orchtw_request_plans", GAUGE,
                 "Cached request plans."),
            Read(one(lambda: self._bytes), "orchtw_request_plan_bytes", GAUGE, "Bytes of cached request plans."),
            Read(one(lambda: self.answered + self.led), "orchtw_planned_requests_total", COUNTER,
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

    def _holds(self, made: ShortLine | Plan) -> bool:
        try:
            return made.holds()
        except Exception:
            self._log.failure("a request plan or short line failed; handling the request normally")
            return False

    async def _learn(self, request: Request, place: Place) -> Response:
        """Answer a request the whole way, and make a plan or a short line of what it has met there.

        Neither is made if it had to wait before: what was found may have changed by then.
        """
        headers, answer = request.headers, self._line(request)
        lesson = self._learning = _Lesson(request, headers, place)
        try:
            waiting = answer.send(None)
        except StopIteration as done:
            response: Response = done.value
        else:
            self._keep_line(place, lesson.line)
            return await Resumed(answer, waiting)
        finally:
            self._learning = None
        self._plan(request, response, headers, place)
        # What a plan answers needs no line.
        self._keep_line(place, None if _is_get(place) and _key(place) in self._plans else lesson.line)
        return response

    def _reached(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Handle a request at the end of the whole line; make a short one if that is to be learned from it."""
        lesson = self._learning
        if lesson is not None and lesson.request is request:
            self._learning = None
            try:
                lesson.line = self._short_lines.made(request, lesson.headers, lesson.place)
            except Exception:
                self._log.failure("failed to make a short line")
        return self._handler.handle(request)

    def _plan(self, request: Request, response: Response, headers: Mapping[str, str], place: Place) -> None:
        """Make a plan of a get that was answered at once."""
        if _is_get(place) and _is_plain(request, response):
            key = _key(place)
            shown = copy(request)
            shown.headers = headers
            try:
                plan = self._made(shown, response, key)
            except Exception:
                self._log.failure("failed to make a request plan")
            else:
                self._keep(key, plan)

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
        self._make_room()
        self._recheck()

    def _keep_line(self, place: Place, short: ShortLine | None) -> None:
        """Keep a line, if one could be made, in place of an older one; requests are counted on."""
        older = self._lines.pop(place, None)
        if older is not None:
            self._bytes -= older.size
        if short is not None:
            self._lines[place] = short
            self._bytes += short.size
            self._make_room()
            self._recheck()

    def _make_room(self) -> None:
        while len(self._plans) + len(self._lines) > MOST_PLANS or self._bytes > MOST_BYTES:
            if len(self._plans) > len(self._lines):
                self._drop(next(iter(self._plans)))
            else:
                self._drop_line(next(iter(self._lines)))

    def _recheck(self) -> None:
        """Drop some of the plans and lines that no longer hold, whose callers may never come back.

        They keep objects in memory that were replaced: targets of definitions, and classifiers of flows.
        """
        for _ in range(_RECHECKED):
            key = next(self._turn, None)
            if key is None:
                self._turn = iter([*self._plans, *self._lines])
                continue
            plan, short = self._plans.get(key), self._lines.get(key)
            if plan is not None and not self._holds(plan):
                self._drop(key)
            if short is not None and not self._holds(short):
                self._drop_line(key)

    def _drop(self, key: Key) -> None:
        plan = self._plans.pop(key, None)
        if plan is not None:
            self._bytes -= plan.size
            caller, collection, query = key
            self._count((caller, "GET", collection, "", query), 1)

    def _drop_line(self, place: Place) -> None:
        short = self._lines.pop(place, None)
        if short is not None:
            self._bytes -= short.size
            self._count(place, 1)

    def _count(self, place: Place, asked: int) -> None:
        if place not in self._asked and len(self._asked) >= MOST_PLANS:
            del self._asked[next(iter(self._asked))]
        self._asked[place] = asked


class _Lesson:
    """A request on the whole line that a short one is to be made from, and the headers that it came with."""

    __slots__ = ("headers", "line", "place", "request")

    def __init__(self, request: Request, headers: Mapping[str, str], place: Place) -> None:
        self.request = request
        self.headers = headers
        self.place = place
        self.line: ShortLine | None = None


def _is_get(place: Place) -> bool:
    """Report whether a plan may answer such requests: gets of whole objects."""
    return place[1] == "GET" and place[3] == ""


def _key(place: Place) -> Key:
    caller, _method, before, _after, query = place
    return caller, before, query


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

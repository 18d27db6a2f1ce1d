"""Short lines: requests that are repeated but for names and bodies reach their verb past what is known of them.

The line of stages remains the truth. A short line is made from a request that has just passed all of it without
waiting, to which each stage offers its part (see `plan.Short`). It holds for one caller (the very same headers,
credentials included, from one address), one method, one collection or sub-resource and one query. What it was made
from is looked at for every request; a request that has to wait for its turn takes the rest of the whole line.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from copy import copy
from functools import partial
from sys import getsizeof
from typing import Any, Final, Protocol

import msgspec

from orchtw.filters.chain import Placed, Proceed, line
from orchtw.filters.plan import AS_IT_IS, Fill, Look, Short, Shortening
from orchtw.filters.plan_keys import Place
from orchtw.request import Request, RequestInfo, Response
from orchtw.verbs.equal_gets import EqualCalls

LINE_BYTES: Final = 8192
"""Bytes of a short line beside its texts: its parts are some thirty closures, and what they hold."""

_VERBS: Final = frozenset({"get", "list", "create", "update", "patch", "delete"})

Describe = Callable[[Request, str], RequestInfo]


class Handler(Protocol):
    """Handler behind the stages."""

    def handle(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Answer a request that has passed all stages."""

    def calls(self, request: Request) -> EqualCalls | None:
        """Return how requests that differ from this one by name and body are handled; None: nothing of it lasts."""


class ShortLine(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Line of requests that have much in common: what to look at, what to put into each of them, and the stages.

    `headers` are those that the stages leave, without the length of the body.
    """

    stands: tuple[Look, ...]
    headers: dict[str, str]
    describe: Describe
    proceed: Proceed
    size: int

    def holds(self) -> bool:
        """Report whether all that the line was made from is unchanged."""
        for stands in self.stands:  # noqa: SIM110 - a generator costs more than what it asks
            if not stands():
                return False
        return True

    def go(self, request: Request, name: str) -> Coroutine[Any, Any, Response]:
        """Answer a request for the object of this name."""
        request.headers = self.headers
        request.info = self.describe(request, name)
        return self.proceed(request)


class ShortLines:
    """Maker of short lines from `stages` and the `handler` behind them."""

    def __init__(self, stages: Sequence[Placed], handler: Handler) -> None:
        self._stages = tuple(placed.stage for placed in stages)
        self._handler = handler
        self._rests = tuple(line(stages[at + 1 :], handler.handle) for at in range(len(stages)))

    def made(self, request: Request, headers: Mapping[str, str], place: Place) -> ShortLine | None:
        """Return the line of requests like this one, which came with `headers` and is about to be handled.

        It has not waited: all that the stages have found is true now. None: there can be no such line.
        """
        info = request.info
        if info is None or info.verb not in _VERBS or not info.exact or not _is_plain(request):
            return None
        before, after = place[2:4]
        if after is not None and f"{before}{info.name}{after}" != request.path:
            return None
        came = copy(request)
        came.headers = headers
        calls, parts = self._handler.calls(came), self._parts(came)
        if calls is None or parts is None:
            return None
        left = {name: text for name, text in request.headers.items() if name != "content-length"}
        texts = (before, after or "", place[4], *left, *left.values())
        return ShortLine(
            stands=(*(look for part in parts for look in part.stands), *calls.stands),
            headers=left,
            describe=_one(info) if after is None else _named(info),
            proceed=self._proceed(parts, calls),
            size=LINE_BYTES + sum(part.size for part in parts) + sum(map(getsizeof, texts)),
        )

    def _parts(self, request: Request) -> list[Short] | None:
        parts: list[Short] = []
        for stage in self._stages:
            part = stage.shorten(request) if isinstance(stage, Shortening) else AS_IT_IS
            if part is None:
                return None
            parts.append(part)
        return parts

    def _proceed(self, parts: Sequence[Short], calls: EqualCalls) -> Proceed:
        """Compose the line, the innermost first; what only fills in is joined to the next stage inside."""
        proceed, fills = self._end(calls), list[Fill]()
        for stage, part, rest in zip(reversed(self._stages), reversed(parts), reversed(self._rests), strict=True):
            if part is AS_IT_IS:
                proceed, fills = partial(stage.handle, proceed=_filled(fills, proceed)), []
                continue
            if part.around is not None:
                proceed, fills = part.around(_filled(fills, proceed), rest), []
            if part.fill is not None:
                fills.insert(0, part.fill)
        return _filled(fills, proceed)

    def _end(self, calls: EqualCalls) -> Proceed:
        """Return the innermost step: a stage that stands in the line as it is may have waited."""
        stands, run, handle = calls.stands, calls.run, self._handler.handle

        def end(request: Request) -> Coroutine[Any, Any, Response]:
            for look in stands:
                if not look():
                    return handle(request)
            return run(request)

        return end


def _is_plain(request: Request) -> bool:
    """Report whether nothing of the request is its own so far."""
    return request.user is request.authenticated and not (
        request.warnings
        or request.annotations
        or request.detailed_annotations
        or request.passed_on
        or request.given_up
        or request.steps
        or request.faults
    )


def _filled(fills: Sequence[Fill], proceed: Proceed) -> Proceed:
    """Return `proceed` with the findings of stages put into the request before."""
    if not fills:
        return proceed
    filled = tuple(fills)

    def fill(request: Request) -> Coroutine[Any, Any, Response]:
        for each in filled:
            each(request)
        return proceed(request)

    return fill


def _one(info: RequestInfo) -> Describe:
    """Return what describes requests of one path."""
    return lambda _request, _name: info


def _named(info: RequestInfo) -> Describe:
    """Return what describes requests whose paths differ in an object's name."""
    # Constructing is twice as fast as `msgspec.structs.replace`.
    verb, prefix, group, version = info.verb, info.prefix, info.group, info.version
    namespace, resource, subresource = info.namespace, info.resource, info.subresource
    parts_after = info.parts[2:]

    def describe(request: Request, name: str) -> RequestInfo:
        return RequestInfo(
            is_resource=True,
            verb=verb,
            path=request.path,
            prefix=prefix,
            group=group,
            version=version,
            namespace=namespace,
            resource=resource,
            subresource=subresource,
            name=name,
            parts=(resource, name, *parts_after),
        )

    return describe

"""Waiting for a condition: on watches and on the record of writes, without sleeps."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final, TypeVar

from orchtw.testing.control import calls
from orchtw.testing.control.answers import ApiError
from orchtw.testing.control.calls import Call
from orchtw.testing.control.conditions import not_yet
from orchtw.testing.control.failures import ConditionNotMet, indented, object_text
from orchtw.testing.control.http import HttpClient, Lines, ServerRequest, path_of
from orchtw.testing.control.reader import AsyncReader, Object
from orchtw.testing.control.records import RecordedWrite, writes_text
from orchtw.testing.control.resources import DEFAULT_NAMESPACE, ResourceNames, ServedResource, UnknownResource
from orchtw.testing.control.selectors import Selected, absent
from orchtw.testing.server_died import ServerDied

T = TypeVar("T")

Predicate = Callable[[Object], object]

TIMEOUT_S: Final = 30.0
"""Timeout of a condition; one that is met costs no more than the event that meets it."""

LAST_WRITES: Final = 10
"""Writes that a failure shows."""

LOOK_S: Final = 0.25
"""Interval of looks at what no event tells of: the tester's own state, and resources that others serve."""

RETRY_S: Final = 0.05
"""Wait after a failure that passes."""

LEAST_S: Final = 1.0
"""Timeout of responses when the time is up: of those that explain the failure."""

PASSING: Final = (404, 409, 410, 429, 500, 503, 504)
"""Codes of refusals that pass: faults on demand give all of them."""


class Eventually:
    """One wait. It ends with a result, or raises ConditionNotMet with what was seen last."""

    def __init__(self, client: HttpClient, names: ResourceNames, timeout_s: float) -> None:
        self._client = client
        self._names = names
        self._timeout_s = timeout_s
        self._until = time.monotonic() + timeout_s
        self._seen: Object | None = None
        self._result: object = None
        self._error: BaseException | None = None

    @property
    def _left_s(self) -> float:
        return self._until - time.monotonic()

    async def _send(self, call: Call[T], /) -> T:
        __tracebackhide__ = True
        return call.result(await self._client.answer(call.request, max(self._left_s, LEAST_S)))

    async def selected(self, selected: Selected, predicate: Predicate) -> Object:
        """Return the first selected object that meets the predicate; for `absent` the last one, perhaps empty."""
        __tracebackhide__ = True
        while self._left_s > 0:
            try:
                resource = await self._names.find(selected.resource)
                async with aclosing(self._states(resource, selected)) as states:
                    async for found in states:
                        if predicate is absent:
                            if not found:
                                return self._seen or {}
                        elif met := self._first_met(found, predicate):
                            return met
            except UnknownResource as error:
                self._error = error
                await self._definitions()
            except (ApiError, OSError) as error:
                await self._bear(error)
        raise await self._selection_unmet(selected)

    async def read(self, condition: Callable[[AsyncReader], Awaitable[T]], what: str) -> T:
        """Return the first true value of a condition that reads objects; looked at after each write."""
        __tracebackhide__ = True
        reader = AsyncReader(self._send, self._names)
        since = first = await self._send(calls.revision())
        while self._left_s > 0:
            try:
                async with self._client.lines(calls.history({"since": since}, follow=True).request) as lines:
                    while self._left_s > 0:
                        if result := await self._value(condition, reader, what):
                            return result
                        if not await self._change(lines):
                            break
            except (ApiError, OSError) as error:
                await self._bear(error)
            since = await self._send(calls.revision())
        raise await self._reading_unmet(what, first)

    async def _value(
        self, condition: Callable[[AsyncReader], Awaitable[T]], reader: AsyncReader, what: str
    ) -> T | None:
        """Return the value of a condition, None for one that raises what means "not yet"."""
        try:
            reading = condition(reader)
            result = await reading if isinstance(reading, Awaitable) else None
        except (ApiError, OSError):
            raise
        except Exception as error:
            if not (isinstance(error, UnknownResource) or not_yet(error)):
                raise
            self._error = error
            return None
        if not isinstance(reading, Awaitable):
            raise TypeError(f"the condition must be a coroutine function: {what} returned {reading!r}")
        self._error, self._result = None, result
        return result

    async def _bear(self, error: ApiError | OSError) -> None:
        """Wait a little after a failure that passes: a reset, a definition that went, a fault. Raises others."""
        final = ConnectionRefusedError | ServerDied
        passing = error.code in PASSING if isinstance(error, ApiError) else not isinstance(error, final)
        if not passing:
            raise error
        self._error = error
        self._names.forget()
        await self._client.network.sleep(max(0.0, min(RETRY_S, self._left_s)))

    def _first_met(self, found: Mapping[str, Object], predicate: Predicate) -> Object | None:
        for obj in found.values():
            try:
                if predicate(obj):
                    return obj
                self._error = None
            except Exception as error:
                if not not_yet(error):
                    raise
                self._error = error
        return None

    async def _states(
        self, resource: ServedResource, selected: Selected
    ) -> AsyncGenerator[Mapping[str, Object], None]:
        """Yield all selected objects, then those of each event: of a change the new state, and of an end nothing.

        Ends with the watch. Raises ApiError.
        """
        namespace = selected.namespace or (DEFAULT_NAMESPACE if selected.name else "")
        path = resource.collection(namespace)
        listed = await self._send(calls.document(path, selected.labels, selected.field_selector))
        kind = {"apiVersion": listed["apiVersion"], "kind": listed["kind"].removesuffix("List")}
        present = {_key(each): {**kind, **each} for each in listed["items"]}
        self._look(present)
        yield present
        request = ServerRequest(
            method="GET",
            path=path_of(
                path,
                watch="1",
                resourceVersion=listed["metadata"]["resourceVersion"],
                labelSelector=selected.labels,
                fieldSelector=selected.field_selector,
            ),
        )
        async with self._client.lines(request) as lines:
            while (event := await self._event(lines)) is not None:
                obj = event["object"]
                if event["type"] == "DELETED":
                    present.pop(_key(obj), None)
                else:
                    present[_key(obj)] = obj
                self._seen = obj
                yield present if event["type"] == "DELETED" else {_key(obj): obj}

    def _look(self, present: Mapping[str, Object]) -> None:
        self._seen = next(iter(present.values()), None)

    async def _event(self, lines: Lines) -> Any:
        """Return the next event of a watch, None when it or the time ends. Raises ApiError for an ERROR event."""
        try:
            line = await lines.next(self._left_s)
        except TimeoutError:
            return None
        if line is None:
            return None
        event = json.loads(line)
        if event["type"] == "ERROR":
            raise calls.watch_error(event["object"])
        return event

    async def _change(self, lines: Lines) -> bool:
        """Wait for a write, or for a little while; False: the record ends."""
        try:
            line = await lines.next(min(LOOK_S, max(self._left_s, 0)))
            while line is not None:
                line = await lines.next(0)  # what came at the same time
        except TimeoutError:
            return True
        return False

    async def _definitions(self) -> None:
        """Wait for a change among definitions, or for a little while: a resource is yet to be served."""
        try:
            definitions = (await self._names.find("customresourcedefinitions")).collection("")
        except UnknownResource:
            definitions = "/api/v1/namespaces"  # there are no definitions here: only the interval counts
        listed = await self._send(calls.document(definitions))
        path = path_of(definitions, watch="1", resourceVersion=listed["metadata"]["resourceVersion"])
        async with self._client.lines(ServerRequest(method="GET", path=path)) as lines:
            await self._change(lines)

    async def _selection_unmet(self, selected: Selected) -> ConditionNotMet:
        namespace = selected.namespace or (DEFAULT_NAMESPACE if selected.name else "")
        filters: dict[str, Any] = {"limit": LAST_WRITES, "name": selected.name}
        try:
            resource = await self._names.find(selected.resource)
            filters |= {"resource": resource.plural, "namespace": namespace if resource.namespaced else ""}
            writes = await self._send(calls.history(filters))
        except UnknownResource:
            writes = []
        seen = "nothing" if self._seen is None else f"\n{indented(object_text(self._seen))}"
        return self._failure(str(selected), f"last seen: {seen}", writes)

    async def _reading_unmet(self, what: str, since: int) -> ConditionNotMet:
        writes = await self._send(calls.history({"since": since, "limit": LAST_WRITES}))
        return self._failure(what, f"last result: {self._result!r}", writes)

    def _failure(self, what: str, seen: str, writes: list[RecordedWrite]) -> ConditionNotMet:
        parts = [f"{what}: the condition was not met within {self._timeout_s:g} s"]
        if self._error is not None:
            parts.append(f"the condition raised {type(self._error).__name__}: {self._error}")
        parts += [seen, f"last writes:\n{indented(writes_text(writes))}"]
        return ConditionNotMet("\n".join(parts), self._seen, writes)


def described(call: Callable[..., Any]) -> str:
    """Return a name of a condition for people: its own, and where it is."""
    call = getattr(call, "__wrapped__", call)
    code = getattr(call, "__code__", None)
    place = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    return f"{getattr(call, '__qualname__', repr(call))}{place}"


def _key(obj: Mapping[str, Any]) -> str:
    metadata = obj["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"

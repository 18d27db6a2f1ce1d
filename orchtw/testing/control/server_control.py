"""Control of a server by its test, as coroutines over any network."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import Any, TypedDict, TypeVar, Unpack, overload

import msgspec

from orchtw.testing.control import calls
from orchtw.testing.control.answers import RawAnswer
from orchtw.testing.control.calls import AddedFault, Call, StateSnapshot, Watches
from orchtw.testing.control.eventually import TIMEOUT_S, Eventually, Predicate, described
from orchtw.testing.control.http import HttpClient, ServerRequest
from orchtw.testing.control.quiet import counted, quiet
from orchtw.testing.control.reader import AsyncReader, Object, Send
from orchtw.testing.control.records import ObjectDifference, RecordedWrite
from orchtw.testing.control.resources import ResourceNames
from orchtw.testing.control.selectors import Selected
from orchtw.testing.control.service_map import ServiceMapFile

T = TypeVar("T")

Texts = str | Collection[str]


class FaultPlace(TypedDict, total=False):
    """Requests that a fault may strike; each field is one value or several."""

    user: Texts
    group: Texts
    resource: Texts
    namespace: Texts


class FaultFields(FaultPlace, total=False):
    """Fields of a fault rule, as described with `/debug/faults`.

    `seconds` and `retry_after_s` are times in seconds; `after_events` and `in_stream` are about watches.
    """

    fault: str
    status: int
    verb: Texts
    subresource: Texts
    name: Texts
    labels: str
    message: str
    retry_after_s: int
    seconds: float
    revisions: int
    in_stream: bool
    after_events: int
    when: str
    times: int
    after: int
    probability: float
    seed: int
    gap: int


class ObjectFilters(TypedDict, total=False):
    """Filters by object; `resource` is a plural, with or without its group."""

    group: str
    resource: str
    namespace: str
    name: str


class WriteFilters(ObjectFilters, total=False):
    """Filters by write; `type` is ADDED, MODIFIED or DELETED."""

    user: str
    manager: str
    verb: str
    type: str


class AsyncFaults:
    """Control of the faults on demand."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def add(self, **fields: Unpack[FaultFields]) -> AddedFault:
        """Add a rule, such as `status=409, verb="update", resource="configmaps", times=2`. Raises ApiError (400)."""
        added: AddedFault = await self._send(calls.add_fault(fields))
        return added

    async def chaos(self, seed: int, **place: Unpack[FaultPlace]) -> Sequence[AddedFault]:
        """Add the rules of the preset `chaos`, under which no correct controller fails. Raises ApiError (400)."""
        added: Sequence[AddedFault] = await self._send(calls.add_chaos(seed, place))
        return added

    async def list(self) -> Sequence[AddedFault]:
        """Return the rules, with how often each has struck."""
        listed: Sequence[AddedFault] = await self._send(calls.list_faults())
        return listed

    async def remove(self, fault: AddedFault | str) -> None:
        """Remove a rule, or one by its id. Raises ApiError (404)."""
        await self._send(calls.remove_fault(fault))

    async def clear(self) -> None:
        """Remove all fault rules."""
        await self._send(calls.clear_faults())


class Reached(msgspec.Struct, frozen=True, eq=False):
    """Running server, as its control reaches it."""

    client: HttpClient
    services: ServiceMapFile


class ServerControl:
    """Control of one server by its administrator, while `reach` finds it.

    All methods raise OSError when the server is gone.
    """

    def __init__(self, reach: Callable[[], Reached]) -> None:
        self._reach = reach
        self._names = ResourceNames(self._document)
        self._since = 0
        self._baseline: StateSnapshot | None = None

    @property
    def faults(self) -> AsyncFaults:
        """Return the faults on demand."""
        return AsyncFaults(self._call)

    def reader(self) -> AsyncReader:
        """Return a reader of the present objects."""
        return AsyncReader(self._call, self._names)

    async def _call(self, call: Call[T], /) -> T:
        return call.result(await self._reach().client.answer(call.request))

    async def request(self, method: str, path: str, body: Any = None, content_type: str = "") -> RawAnswer:
        """Send any request as the administrator and return its response, of any code."""
        headers = {"Content-Type": content_type} if content_type else {}
        return await self._reach().client.answer(ServerRequest(method=method, path=path, body=body, headers=headers))

    async def reset(self, watches: Watches = "expire") -> int:
        """Bring back the state after the start, or that of `set_baseline`; returns the revision.

        All faults and mappings that came since then are removed.
        """
        await self.faults.clear()
        self._reach().services.go_back()
        state = self._baseline
        return self._changed(
            await self._call(calls.reset(watches) if state is None else calls.restore(state, watches))
        )

    async def set_baseline(self) -> None:
        """Make the present state, such as one with definitions, that which `reset` brings back."""
        before, self._baseline = self._baseline, await self.snapshot()
        self._reach().services.keep()
        if before is not None:
            await self.release(before)

    @property
    def reset_revision(self) -> int:
        """Return the revision of the latest reset or restore, 0 before the first: `writes` counts from there."""
        return self._since

    async def snapshot(self) -> StateSnapshot:
        """Keep the present state for `restore`."""
        return await self._call(calls.snapshot())

    async def restore(self, state: StateSnapshot, watches: Watches = "expire") -> int:
        """Bring back a state; returns the revision. Raises ApiError (404) for one that was released."""
        return self._changed(await self._call(calls.restore(state, watches)))

    async def release(self, state: StateSnapshot) -> None:
        """Let go of a state. Raises ApiError (404)."""
        await self._call(calls.release(state))

    def forget_state(self) -> None:
        """Begin anew with a server that has just started."""
        self._baseline = None
        self._changed(0)

    def _changed(self, revision: int) -> int:
        self._names.forget()
        self._since = revision
        return revision

    async def revision(self) -> int:
        """Return the latest revision: a mark for `writes`, `history`, `at` and `diff`."""
        return await self._call(calls.revision())

    async def history(
        self, since: int | str = "", until: int | str = "", limit: int = 0, **filters: Unpack[WriteFilters]
    ) -> list[RecordedWrite]:
        """Return recorded writes, oldest first. Bounds are revisions, RFC 3339 times or durations ago ("5m").

        `limit` keeps the last ones. Raises ApiError (400).
        """
        return await self._call(calls.history({"since": since, "until": until, "limit": limit or "", **filters}))

    async def writes(
        self, since: int | None = None, ignore: Collection[str] = (), **filters: Unpack[WriteFilters]
    ) -> list[RecordedWrite]:
        """Return the writes since a revision, by default the latest reset, without those to resources in `ignore`.

        Without a user among the filters, the server's own writes do not count.
        """
        start = self._since if since is None else since
        found = await self.history(since=start, **filters)
        return counted(found, filters.get("user", ""), ignore)

    async def quiet(self, for_s: float, ignore: Collection[str] = (), **filters: Unpack[WriteFilters]) -> None:
        """Wait for `for_s` seconds. Raises NotQuiet if there are such writes as `writes` would return."""
        await quiet(self._reach().client, self._call, for_s, dict(filters), ignore)

    def at(self, revision: int) -> AsyncReader:
        """Return a reader of the objects as of a revision. It raises ApiError (410) for one that is not kept."""
        return AsyncReader(self._call, self._names, partial(calls.document_at, revision))

    async def diff(
        self, before: int, after: int | None = None, **filters: Unpack[ObjectFilters]
    ) -> list[ObjectDifference]:
        """Return what differs between two revisions, the later by default the latest. Raises ApiError (410)."""
        return await self._call(calls.diff(before, after, filters))

    @overload
    async def eventually(
        self,
        condition: str,
        predicate: Predicate = ...,
        *,
        namespace: str = ...,
        labels: str = ...,
        fields: str = ...,
        timeout_s: float = ...,
    ) -> Object: ...

    @overload
    async def eventually(self, condition: Callable[[AsyncReader], Awaitable[T]], *, timeout_s: float = ...) -> T: ...

    async def eventually(
        self,
        condition: str | Callable[[AsyncReader], Awaitable[T]],
        predicate: Predicate = bool,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        timeout_s: float = TIMEOUT_S,
    ) -> T | Object:
        """Wait for a condition and return what met it. Raises ConditionNotMet with what was seen last.

        The condition is either a selection, RESOURCE/NAME or RESOURCE with selectors, of which an object meets the
        predicate; or a coroutine function that reads objects. See `ApiServer.eventually`.
        """
        wait = Eventually(self._reach().client, self._names, timeout_s)
        if isinstance(condition, str):
            return await wait.selected(Selected.of(condition, namespace, labels, fields), predicate)
        return await wait.read(condition, described(condition))

    async def map_service(self, service: str, address: str) -> None:
        """Dial `address` ("127.0.0.1:10250") for a Service's port ("cert-manager/webhook:443"), until the reset."""
        await self._reach().client.network.run(partial(self._reach().services.add, service, address))

    async def _document(self, path: str) -> Any:
        answer = await self._reach().client.answer(ServerRequest(method="GET", path=path))
        return None if answer.code == 404 else answer.checked(f"GET {path}").json

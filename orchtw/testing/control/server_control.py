"""Control of a server by its test, as coroutines over any network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import aclosing, suppress
from datetime import datetime
from functools import partial
from typing import Any, TypedDict, TypeVar, Unpack, overload

import msgspec

from orchtw.exports.importing import Imported
from orchtw.exports.replaying import Replayed
from orchtw.testing.control import calls
from orchtw.testing.control.answers import ApiError, RawAnswer
from orchtw.testing.control.calls import Call, StateSnapshot, Watches
from orchtw.testing.control.conditions import arranged
from orchtw.testing.control.eventually import TIMEOUT_S, Eventually, Predicate, described
from orchtw.testing.control.failures import ConditionNotMet
from orchtw.testing.control.faults import AsyncFaults, Texts
from orchtw.testing.control.http import HttpClient, ServerRequest
from orchtw.testing.control.namespaces import ACCOUNT_S, fresh_name
from orchtw.testing.control.quiet import checked_user, counted, quiet
from orchtw.testing.control.reader import AsyncReader, Object
from orchtw.testing.control.recording import ExportFile, Recording, follow
from orchtw.testing.control.records import ObjectDifference, RecordedWrite
from orchtw.testing.control.resources import ResourceNames
from orchtw.testing.control.selectors import Selected
from orchtw.testing.control.service_map import ServiceMapFile

T = TypeVar("T")


class ObjectFilters(TypedDict, total=False):
    """Filters by object; `resource` is a plural, with or without its group."""

    group: str
    resource: str
    namespace: str
    name: str


class UserWriteFilters(ObjectFilters, total=False):
    """Filters by the write of a user; `type` is ADDED, MODIFIED or DELETED."""

    manager: str
    verb: str
    type: str


class WriteFilters(UserWriteFilters, total=False):
    """Filters by write, its user among them."""

    user: str


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
        self._taken: list[str] = []

    @property
    def faults(self) -> AsyncFaults:
        """Return the faults on demand."""
        return AsyncFaults(self._call, self._names)

    def reader(self) -> AsyncReader:
        """Return a reader of the present objects."""
        return AsyncReader(self._call, self._names)

    async def _call(self, call: Call[T], /) -> T:
        __tracebackhide__ = True
        return call.result(await self._reach().client.answer(call.request))

    async def request(self, method: str, path: str, body: Any = None, content_type: str = "") -> RawAnswer:
        """Send any request as the administrator and return its response, of any code."""
        headers = {"Content-Type": content_type} if content_type else {}
        return await self._reach().client.answer(ServerRequest(method=method, path=path, body=body, headers=headers))

    async def new_namespace(self, test: str = "") -> str:
        """Create a namespace with a name of its own, which begins with the test's if one is given; returns the name.

        Its account is there, unless flags turn off the controller that makes it. Raises ApiError.
        """
        name = fresh_name(test)
        made = await self.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        made.checked(f"namespace {name}")
        with suppress(ConditionNotMet):
            await self.eventually("serviceaccounts/default", namespace=name, timeout_s=ACCOUNT_S)
        return name

    async def reset(self, watches: Watches = "expire") -> int:
        """Bring back the state after the start, or that of `set_baseline`; returns the revision.

        All faults and mappings that came since then are removed, and snapshots taken since then are released.
        """
        await self.faults.clear()
        self._reach().services.go_back()
        state = self._baseline
        revision = self._changed(
            await self._call(calls.reset(watches) if state is None else calls.restore(state, watches))
        )
        while self._taken:
            await self._forget(self._taken[-1])
        return revision

    async def set_baseline(self) -> None:
        """Make the present state, such as one with definitions, that which `reset` brings back.

        Snapshots taken before are kept until they are released.
        """
        before, self._baseline = self._baseline, await self._call(calls.snapshot())
        self._taken.clear()
        self._reach().services.keep()
        if before is not None:
            await self.release(before)

    @property
    def reset_revision(self) -> int:
        """Return the revision of the latest reset or restore, 0 before the first: `writes` counts from there."""
        return self._since

    async def snapshot(self) -> StateSnapshot:
        """Keep the present state for `restore`, until it is released or the next reset."""
        state = await self._call(calls.snapshot())
        self._taken.append(state.id)
        return state

    async def restore(self, state: StateSnapshot | str, watches: Watches = "expire") -> int:
        """Bring back a state, or one by its id; returns the revision. Raises ApiError (404) for a released one."""
        return self._changed(await self._call(calls.restore(state, watches)))

    async def release(self, state: StateSnapshot | str) -> None:
        """Let go of a state, or of one by its id. Raises ApiError (404)."""
        await self._call(calls.release(state))
        if (name := calls.id_of(state)) in self._taken:
            self._taken.remove(name)

    async def advance(self, seconds: float) -> datetime:
        """Advance the time of a simulated cluster (`--simulate`), through all that is due on the way.

        Returns the new simulated time. Raises ApiError (404) without a simulation.
        """
        return await self._call(calls.advance(seconds))

    async def _forget(self, name: str) -> None:
        """Let go of a state that was taken, unless it has gone by other means."""
        try:
            await self._call(calls.release(name))
        except ApiError as error:
            if not calls.missing(error):
                raise
        self._taken.remove(name)

    def forget_state(self) -> None:
        """Begin anew with a server that has just started."""
        self._baseline = None
        self._taken.clear()
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
        self,
        user: str | None = None,
        *,
        since: int | None = None,
        ignore: Texts = (),
        **filters: Unpack[UserWriteFilters],
    ) -> list[RecordedWrite]:
        """Return the writes of a user since a revision, by default the latest reset.

        Writes to the resources in `ignore`, one name or several, are left out, and without a user the server's own.
        """
        name = checked_user(user)
        start = self._since if since is None else since
        found = await self.history(since=start, user=name, **filters)
        return counted(found, name, ignore)

    async def quiet(self, for_s: float, ignore: Texts = (), **filters: Unpack[WriteFilters]) -> None:
        """Wait for `for_s` seconds. Raises NotQuiet if there are such writes as `writes` would return."""
        __tracebackhide__ = True
        await quiet(self._reach().client, self._call, for_s, dict(filters), ignore)

    async def follow(
        self, since: int | str | None = None, *, timeout_s: float | None = None, **filters: Unpack[WriteFilters]
    ) -> AsyncIterator[RecordedWrite]:
        """Yield writes as they are recorded: those after a revision, by default those after the first step.

        It ends when none comes within `timeout_s`. Raises ApiError.
        """
        start = await self.revision() if since is None else since
        async with aclosing(
            follow(self._reach().client, self._call, {"since": start, **filters}, timeout_s)
        ) as writes:
            async for write in writes:
                yield write

    async def export(self, target: ExportFile, *, since: int | None = None, **filters: Unpack[ObjectFilters]) -> int:
        """Write objects and the writes to them as an export of `orch-record`; returns the number of its lines.

        It begins with the record, or at a revision. Data of Secrets are not in it. Raises ApiError and OSError.
        """
        return await self._recording.export(target, since, filters)

    async def import_(self, source: ExportFile, *, at: int | None = None) -> Imported:
        """Create the objects of an export, as they were at a revision, by default in the end; see `complaints`.

        Objects that are there stay as they are. Raises ConfigError for another file.
        """
        return await self._recording.load(source, at)

    async def replay(
        self, source: ExportFile, *, speed: float = 1.0, users: Collection[str] = ()
    ) -> tuple[Imported, Replayed]:
        """Create the objects at the beginning of an export and repeat its writes, `speed` seconds in one.

        With `speed=math.inf` nothing waits. `users` selects the users whose writes are repeated. Raises ConfigError.
        """
        return await self._recording.replay(source, speed, (users,) if isinstance(users, str) else users)

    @property
    def _recording(self) -> Recording:
        return Recording(self._reach().client)

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
        predicate: Predicate | float = ...,
        *,
        namespace: str = ...,
        labels: str = ...,
        fields: str = ...,
        timeout_s: float | None = ...,
    ) -> Object: ...

    @overload
    async def eventually(
        self,
        condition: Callable[[AsyncReader], Awaitable[T]],
        predicate: float = ...,
        *,
        timeout_s: float | None = ...,
    ) -> T: ...

    async def eventually(
        self,
        condition: str | Callable[[AsyncReader], Awaitable[T]],
        predicate: Predicate | float = bool,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        timeout_s: float | None = None,
    ) -> T | Object:
        """Wait for a condition and return what met it. Raises ConditionNotMet with what was seen last.

        The condition is either a selection, RESOURCE/NAME or RESOURCE with selectors, of which an object meets the
        predicate; or a coroutine function that reads objects. See `ApiServer.eventually`.
        """
        __tracebackhide__ = True
        selectors = bool(namespace or labels or fields)
        met, seconds = arranged(condition, predicate, timeout_s, TIMEOUT_S, asynchronous=True, selectors=selectors)
        wait = Eventually(self._reach().client, self._names, seconds)
        if isinstance(condition, str):
            return await wait.selected(Selected.of(condition, namespace, labels, fields), met)
        return await wait.read(condition, described(condition))

    async def map_service(self, service: str, address: str) -> None:
        """Dial `address` ("127.0.0.1:10250") for a Service's port ("cert-manager/webhook:443"), until the reset."""
        await self._reach().client.network.run(partial(self._reach().services.add, service, address))

    async def _document(self, path: str) -> Any:
        answer = await self._reach().client.answer(ServerRequest(method="GET", path=path))
        return None if answer.code == 404 else answer.checked(f"GET {path}").json

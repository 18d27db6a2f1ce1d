"""OpenAPI documents and lists of resources of the servers behind APIServices, fetched periodically (reference
AGG-13, DISC-16).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import orjson
from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.errors import StatusError
from orchtw.registry.aggregation.backends import Backends, NoAnswer
from orchtw.registry.aggregation.services import ApiService, ApiServices, GroupVersion
from orchtw.registry.offload import Offload
from orchtw.request import UserInfo
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

if TYPE_CHECKING:
    from orchtw.schema.openapi.foreign import Foreign

INTERVAL_S: Final = 60.0
FETCH_S: Final = 30.0
V2_BYTES: Final = 8 << 20
LIST_BYTES: Final = 1 << 20
MOST_RESOURCES: Final = 1000
"""Limit of the entries of one server's list."""
INDEX_BYTES: Final = 1 << 20
USER: Final = UserInfo(name="system:aggregator")

_V2, _V3 = "/openapi/v2", "/openapi/v3"


class _Fetched(msgspec.Struct, eq=False):
    """Fetched documents of one server. `tag` is the ETag of v2; `v3` the hash of its document of the part."""

    service: ApiService
    tag: str = ""
    v2: Foreign | None = None
    v3: str | None = None
    timer: IDelayedCall | None = None
    running: Deferred[None] | None = None

    def stop(self) -> None:
        """Stop fetching the documents."""
        if self.timer is not None and self.timer.active():
            self.timer.cancel()
        if self.running is not None:
            self.running.cancel()


class _Listed(msgspec.Struct, frozen=True):
    """Resources that the server of an APIService listed."""

    service: ApiService
    entries: Sequence[Object]


class RemoteDocuments(Service):
    """Documents of available servers. One that fails changes nothing for the others, and keeps its last document."""

    _log = Logger()

    def __init__(self, services: ApiServices, backends: Backends, offload: Offload, clock: IReactorTime) -> None:
        self.revision = 0
        self._services = services
        self._backends = backends
        self._offload = offload
        self._clock = clock
        self._fetched: dict[str, _Fetched] = {}
        self._listeners: list[Callable[[], None]] = []
        self._lists: dict[GroupVersion, _Listed] = {}
        self._list_listeners: list[Callable[[], None]] = []
        services.listen(self._changed)

    @property
    def v2(self) -> Sequence[Foreign]:
        """Return the documents to merge into the v2 document."""
        return [each.v2 for _, each in sorted(self._fetched.items()) if each.v2 is not None]

    @property
    def v3(self) -> Mapping[str, tuple[ApiService, str]]:
        """Return service and hash of each v3 document, by a path such as `apis/example.com/v1`."""
        found = (each for _, each in sorted(self._fetched.items()) if each.v3 is not None)
        return {each.service.path[1:]: (each.service, each.v3 or "") for each in found}

    def resources(self, group_version: GroupVersion) -> Sequence[Object] | None:
        """Return the entries that a server listed last, also if it does not answer now; None: it never has."""
        found = self._lists.get(group_version)
        return None if found is None else found.entries

    def listen(self, changed: Callable[[], None]) -> None:
        """Call `changed` whenever the OpenAPI documents have changed."""
        self._listeners.append(changed)

    def listen_to_lists(self, changed: Callable[[], None]) -> None:
        """Call `changed` whenever a list of resources has changed."""
        self._list_listeners.append(changed)

    def startService(self) -> None:
        """Begin to fetch documents."""
        super().startService()  # type: ignore[no-untyped-call]
        for service in self._services.all.values():
            self._changed(None, service)

    def stopService(self) -> None:
        """Stop fetching the documents."""
        super().stopService()  # type: ignore[no-untyped-call]
        for each in self._fetched.values():
            each.stop()
        self._fetched = {}

    def _changed(self, old: ApiService | None, new: ApiService | None) -> None:
        if old is not None and (new is None or new.backend != old.backend):
            self._lists.pop(old.group_version, None)
        if not self.running:
            return
        gone = [each for each in (old, new) if each is not None and each.name in self._fetched]
        usable = new is not None and new.backend is not None and new.available and bool(new.group)
        for each in gone[:1]:
            known = self._fetched[each.name]
            if usable and new is not None and new.backend == known.service.backend:
                known.service = new
                return
            self._fetched.pop(each.name).stop()
            self._tell()
        if usable and new is not None:
            made = self._fetched[new.name] = _Fetched(new)
            self._later(made, 0)

    def _tell(self) -> None:
        self.revision += 1
        for changed in self._listeners:
            changed()

    def _later(self, each: _Fetched, delay_s: float) -> None:
        each.timer = self._clock.callLater(delay_s, self._begin, each)

    def _begin(self, each: _Fetched) -> None:
        each.running = Deferred.fromCoroutine(self._fetch(each))
        each.running.addErrback(self._failed, each)
        each.running.addBoth(self._again, each)

    def _failed(self, failure: Failure, each: _Fetched) -> None:
        if not isinstance(failure.value, CancelledError):
            self._log.failure("failed to read the documents of APIService {name}", failure, name=each.service.name)

    def _again(self, _result: object, each: _Fetched) -> None:
        each.running = None
        if self._fetched.get(each.service.name) is each:
            self._later(each, INTERVAL_S)

    async def _fetch(self, each: _Fetched) -> None:
        before = each.v2, each.v3
        for fetch in (self._fetch_list, self._fetch_v2, self._fetch_v3):
            try:
                await fetch(each)
            except (NoAnswer, ValueError, StatusError) as problem:
                self._log.info("documents of APIService {name}: {why}", name=each.service.name, why=str(problem))
        if (each.v2, each.v3) != before and self._fetched.get(each.service.name) is each:
            self._tell()

    async def _fetch_list(self, each: _Fetched) -> None:
        service = each.service
        assert service.backend is not None
        headers = [("Accept", "application/json")]
        answer = await self._backends.get(
            service.backend, service.path, USER, headers=headers, timeout_s=FETCH_S, limit=LIST_BYTES
        )
        if answer.head.code != 200 or self._fetched.get(service.name) is not each:
            return
        found = loads(answer.body)
        listed = found.get("resources") if isinstance(found, dict) else None
        entries = [entry for entry in listed or () if isinstance(entry, dict)][:MOST_RESOURCES]
        known = self._lists.get(service.group_version)
        if known is None or known.entries != entries:
            self._lists[service.group_version] = _Listed(service, entries)
            for changed in self._list_listeners:
                changed()

    async def _fetch_v2(self, each: _Fetched) -> None:
        service = each.service
        assert service.backend is not None
        headers = [("Accept", "application/json"), *((("If-None-Match", each.tag),) if each.tag else ())]
        answer = await self._backends.get(
            service.backend, _V2, USER, headers=headers, timeout_s=FETCH_S, limit=V2_BYTES
        )
        if answer.head.code == 404:
            each.v2, each.tag = None, ""
        elif answer.head.code == 200:
            body = answer.body
            from orchtw.schema.openapi.foreign import fitted  # with all that documents need

            each.v2 = await self._offload.run(len(body), lambda: fitted(body, service.path[1:]))
            each.tag = answer.head.first("etag")

    async def _fetch_v3(self, each: _Fetched) -> None:
        service = each.service
        assert service.backend is not None
        answer = await self._backends.get(
            service.backend,
            _V3,
            USER,
            headers=[("Accept", "application/json")],
            timeout_s=FETCH_S,
            limit=INDEX_BYTES,
        )
        if answer.head.code in (200, 404):
            each.v3 = _hash(answer.body, service.path[1:]) if answer.head.code == 200 else None


def _hash(index: bytes, path: str) -> str | None:
    """Return the hash of a part's document, empty if its address has none; None if there is no such document."""
    try:
        url = loads(index)["paths"][path]["serverRelativeURL"]
        return str(url).partition("hash=")[2].partition("&")[0]
    except (orjson.JSONDecodeError, LookupError, TypeError):
        return None

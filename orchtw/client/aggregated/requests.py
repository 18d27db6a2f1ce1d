"""Requests of one user to the servers of APIServices, and their responses (reference AGG-17)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol, TypeVar
from urllib.parse import quote, urlencode

import msgspec
import orjson

from orchtw.client.aggregated.answers import LargeAnswer, made, refusal, unavailable
from orchtw.client.interface import Resource
from orchtw.errors import InternalError, NotFound
from orchtw.outbound.exchange import ClientExchange, ResponseHead
from orchtw.registry.aggregation.backends import Ask, BackendAnswer, NoAnswer, TooLarge
from orchtw.registry.aggregation.services import ApiService, ServiceBackend
from orchtw.registry.offload import Offload
from orchtw.request import UserInfo
from orchtw.rules.front_proxy import identity_headers
from orchtw.values.names import path_segment
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

REQUEST_S: Final = 30.0
"""Time limit of a whole response."""

BODY_BYTES: Final = 16 << 20
"""Limit of a response: while so much JSON is parsed, the reactor's thread waits some 40 ms."""

MERGE_PATCH: Final = "application/merge-patch+json"
JSON: Final = "application/json"


T = TypeVar("T")


class AskedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request. `transform` is requested in place of an object, such as PartialObjectMetadata."""

    method: str = "GET"
    path: str
    query: Mapping[str, str] = msgspec.field(default_factory=dict)
    body: Object | None = None
    transform: str = ""
    media_type: str = JSON


class Servers(Protocol):
    """Transport to the aggregated servers: `Backends`."""

    async def ask(self, backend: ServiceBackend, ask: Ask) -> tuple[ClientExchange, ResponseHead]: ...

    async def whole(
        self, backend: ServiceBackend, ask: Ask, user: UserInfo, timeout_s: float, limit: int = 0
    ) -> BackendAnswer: ...


class Requests(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Sender of requests as `user`. `suspect` is called for a service that does not answer.

    `meta_group` is the group of partial metadata in Accept headers. `guard` is called before each write, and raises
    an error when writing is no longer allowed (reference CTRL-51).
    """

    servers: Servers
    user: UserInfo
    offload: Offload
    suspect: Callable[[ApiService], None]
    meta_group: str
    guard: Callable[[], object] | None = None

    async def ask(self, service: ApiService, asked: AskedRequest, read: Callable[[Object], T]) -> T:
        """Send a request, and convert the response's object by `read`; a long one in the thread for large work.

        Raises StatusError: the server's own error, ServiceUnavailable (503) if it does not answer, LargeAnswer beyond
        BODY_BYTES, InternalError (500) for anything but an object.
        """
        if self.guard is not None and asked.method != "GET":
            self.guard()
        headers = self._headers(asked.transform)
        data = b"" if asked.body is None else orjson.dumps(asked.body)
        if data:
            headers += [("Content-Type", asked.media_type), ("Content-Length", str(len(data)))]
        ask = Ask(method=asked.method, target=_target(asked.path, asked.query), headers=headers, body=data)
        answer = await self._answer(service, ask)
        if not 200 <= answer.head.code < 300:
            raise refusal(answer.head.code, answer.body)
        body = answer.body
        return await self.offload.run(len(body), lambda: read(json_object(body)))

    async def stream(self, service: ApiService, asked: AskedRequest) -> tuple[ClientExchange, ResponseHead]:
        """Return the head of a streaming response, and the exchange of its body. Raises ServiceUnavailable (503)."""
        headers = [*identity_headers(self.user), *self._headers(asked.transform)]
        ask = Ask(method=asked.method, target=_target(asked.path, asked.query), headers=headers)
        try:
            return await self.servers.ask(_backend(service), ask)
        except NoAnswer:
            self.suspect(service)
            raise unavailable() from None

    def _headers(self, transform: str) -> list[tuple[str, str]]:
        own = f"{JSON};as={transform};g={self.meta_group};v=v1,{JSON}" if transform else JSON
        return [("Accept", own), ("User-Agent", self.user.name.rpartition(":")[2])]

    async def _answer(self, service: ApiService, ask: Ask) -> BackendAnswer:
        try:
            return await self.servers.whole(_backend(service), ask, self.user, REQUEST_S, BODY_BYTES)
        except TooLarge as problem:
            raise LargeAnswer(problem.code) from None
        except NoAnswer:
            self.suspect(service)
            raise unavailable() from None


def path_of(resource: Resource, namespace: str, name: str = "") -> str:
    """Return the path of objects, or of a named one. Raises NotFound (404) for an invalid name."""
    parts = ["", "apis", resource.group, resource.version]
    if resource.namespaced and namespace:
        parts += ["namespaces", namespace]
    parts.append(resource.plural)
    if name:
        parts.append(name)
    if any(path_segment(part) for part in parts[1:]):
        raise NotFound.of(resource.plural, resource.group, name)
    return "/".join(quote(part, safe="") for part in parts)


def _target(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _backend(service: ApiService) -> ServiceBackend:
    """Return the backend. Raises ServiceUnavailable (503) while the server is known to be unavailable."""
    if service.backend is None or not service.available:
        raise unavailable()
    return service.backend


def json_object(text: bytes) -> Object:
    """Return the object of a response or an event. Raises InternalError (500)."""
    try:
        found = loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise made(InternalError, "the aggregated API server returned something other than a JSON object")
    return found

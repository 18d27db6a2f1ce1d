"""`/openapi/v3` and below: the OpenAPI 3 documents and their index (reference OPENAPI-2, OPENAPI-5, OPENAPI-6)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from email.utils import formatdate
from typing import Any

import orjson

from orchtw.endpoints.openapi import JSON, OpenAPI, conditional
from orchtw.registry.aggregation.documents import RemoteDocuments
from orchtw.registry.aggregation.services import ApiService
from orchtw.request import Request, Response
from orchtw.schema.openapi.forms import Encoded
from orchtw.wire.json_values import loads

PassOn = Callable[[Request, ApiService], Coroutine[Any, Any, Response]]

V3_PATH = "/openapi/v3"
IMMUTABLE = "public, immutable"
YEAR_S = 365 * 24 * 3600


class OpenAPIV3:
    """Endpoint of the v3 index and documents.

    `now` returns seconds since the epoch. `remote` holds the documents of other servers; `pass_on` proxies a request.
    """

    methods = frozenset({"GET", "HEAD"})

    def __init__(self, openapi: OpenAPI, remote: RemoteDocuments, now: Callable[[], float], pass_on: PassOn) -> None:
        self._openapi = openapi
        self._remote = remote
        self._now = now
        self._pass_on = pass_on

    def paths(self) -> Iterable[str]:
        """Return the path of the index, unless the gate is off (reference OPENAPI-19)."""
        return (V3_PATH,) if self._openapi.features.v3 else ()

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return the index with a trailing slash, and the documents."""
        if not self._openapi.features.v3:
            return ()
        paths = (*self._openapi.present().published.v3_paths, *self._remote.v3)
        documents = (f"{V3_PATH}/{path}" for path in dict.fromkeys(paths))
        return ((f"{V3_PATH}/", V3_PATH), *((document, document) for document in documents))

    async def handle(self, request: Request, path: str) -> Response:
        """Return the document in the negotiated format, 304 if the client has it, or 406 without a body.

        A document requested with an outdated `hash` is a 301 to the current one; with the current hash it is
        cacheable for a year.
        """
        if path == V3_PATH:
            return await self._index(request)
        if (remote := self._remote.v3.get(path.removeprefix(f"{V3_PATH}/"))) is not None:
            return await self._elsewhere(request, path, *remote)
        return await self._own(request, path)

    async def _index(self, request: Request) -> Response:
        documents = self._openapi.present()
        own = await documents.kept(V3_PATH, lambda: documents.published.index(V3_PATH))
        return conditional(request, JSON, self._with_remote(own))

    def _with_remote(self, own: Encoded) -> Encoded:
        """Return the index with the documents of other servers added."""
        remote = self._remote.v3
        if not remote:
            return own
        index = loads(own.body)
        for path, (_, found) in remote.items():
            url = f"{V3_PATH}/{path}"
            index["paths"][path] = {"serverRelativeURL": f"{url}?hash={found}" if found else url}
        return own.of(orjson.dumps(index))

    async def _elsewhere(self, request: Request, path: str, service: ApiService, right: str) -> Response:
        given = request.param("hash")
        if given and right and given != right:
            return Response(code=301, headers=[("Location", f"{path}?hash={right}")])
        return await self._pass_on(request, service)

    async def _own(self, request: Request, path: str) -> Response:
        documents = self._openapi.present()
        form = await documents.v3(path.removeprefix(f"{V3_PATH}/"))
        given, right = request.param("hash"), form.json.hash
        if given and given != right:
            return Response(code=301, headers=[("Location", f"{path}?hash={right}")])
        response = await documents.answer(request, form)
        if given and response.code != 406:
            expires = formatdate(self._now() + YEAR_S, usegmt=True)
            response.headers += [("Cache-Control", IMMUTABLE), ("Expires", expires)]
        return response

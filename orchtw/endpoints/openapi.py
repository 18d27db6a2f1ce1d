"""`/openapi/v2` and `/openapi/v3`: the OpenAPI documents (reference OPENAPI-1, OPENAPI-2)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from email.utils import formatdate
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from orchtw.endpoints.conditional import names_tag
from orchtw.registry.aggregation.documents import RemoteDocuments
from orchtw.registry.aggregation.services import ApiService
from orchtw.registry.offload import Offload
from orchtw.registry.targets import Targets
from orchtw.request import Request, Response
from orchtw.schema.openapi.features import EVERYTHING, Features
from orchtw.schema.schemas import Schemas
from orchtw.wire.json_values import loads

if TYPE_CHECKING:
    from orchtw.schema.openapi.forms import DocumentForm, Encoded
    from orchtw.schema.openapi.published import Published

T = TypeVar("T")

PassOn = Callable[[Request, ApiService], Coroutine[Any, Any, Response]]

V2_PATH = "/openapi/v2"
V3_PATH = "/openapi/v3"
JSON = "application/json"
WORK_BYTES = 1 << 20  # assumed size of one step in the queue of the offload thread
IMMUTABLE = "public, immutable"
YEAR_S = 365 * 24 * 3600

_VARY = ("Vary", "Accept")


class OpenAPI:
    """Endpoint of the documents of both versions.

    Documents are built on first request, in the thread of `offload`, and again after the resources have changed.
    `now` returns seconds since the epoch. `remote` holds the documents of other servers; `pass_on` proxies a request.
    """

    methods = frozenset({"GET", "HEAD"})

    def __init__(
        self,
        targets: Targets,
        schemas: Schemas,
        now: Callable[[], float],
        offload: Offload,
        remote: RemoteDocuments,
        pass_on: PassOn,
        features: Features = EVERYTHING,
    ) -> None:
        self._features = features
        self._targets = targets
        self._schemas = schemas
        self._now = now
        self._offload = offload
        self._remote = remote
        self._pass_on = pass_on
        self._documents: _Documents | None = None
        self._merged: tuple[_Documents, int, _Documents] | None = None
        self._before: Published | None = None
        targets.listen(self._forget)

    def _forget(self) -> None:
        self._documents = None

    def _present(self) -> _Documents:
        """Return the documents of the current resources. A request calls this once, to see a consistent state."""
        if self._documents is None:
            from orchtw.schema.openapi.published import Published  # saves 15 ms at startup

            self._before = Published(self._schemas, self._targets.resources, self._before, self._features)
            self._documents = _Documents(self._before, self._offload)
        return self._documents

    def paths(self) -> Iterable[str]:
        """Return the paths of the v2 document and of the v3 index."""
        return (V2_PATH, V3_PATH) if self._features.v3 else (V2_PATH,)

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return the v3 index with a trailing slash, and the v3 documents."""
        if not self._features.v3:
            return ()
        paths = (*self._present().published.v3_paths, *self._remote.v3)
        documents = (f"{V3_PATH}/{path}" for path in dict.fromkeys(paths))
        return ((f"{V3_PATH}/", V3_PATH), *((document, document) for document in documents))

    async def handle(self, request: Request, path: str) -> Response:
        """Return the document in the negotiated format, 304 if the client has it, or 406 without a body.

        A v3 document requested with an outdated `hash` is a 301 to the current one; with the current hash it is
        cacheable for a year.
        """
        documents = self._present()
        published = documents.published
        if path == V2_PATH:
            return await self._v2(request, documents)
        if path == V3_PATH:
            own = await documents.kept(path, lambda: published.index(V3_PATH))
            return _conditional(request, JSON, self._with_remote(own))
        if (remote := self._remote.v3.get(path.removeprefix(f"{V3_PATH}/"))) is not None:
            return await self._elsewhere(request, path, *remote)
        return await self._v3(request, path, documents)

    async def _v2(self, request: Request, documents: _Documents) -> Response:
        """Return the v2 document of this server, merged with those of others."""
        published, others, revision = documents.published, self._remote.v2, self._remote.revision
        await documents.do(published.v2_steps())
        if not others:
            return await documents.answer(request, V2_PATH, await documents.kept(V2_PATH, lambda: published.v2))
        if self._merged is None or self._merged[:2] != (documents, revision):
            self._merged = documents, revision, _Documents(published, self._offload)
        together = self._merged[2]
        form: DocumentForm = await together.kept(V2_PATH, lambda: published.v2_with(others))
        return await together.answer(request, V2_PATH, form)

    def _with_remote(self, own: Encoded) -> Encoded:
        """Return the v3 index with the documents of other servers added."""
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

    async def _v3(self, request: Request, path: str, documents: _Documents) -> Response:
        form = await documents.v3(path.removeprefix(f"{V3_PATH}/"))
        given, right = request.param("hash"), form.json.hash
        if given and given != right:
            return Response(code=301, headers=[("Location", f"{path}?hash={right}")])
        response = await documents.answer(request, path, form)
        if given and response.code != 406:
            expires = formatdate(self._now() + YEAR_S, usegmt=True)
            response.headers += [("Cache-Control", IMMUTABLE), ("Expires", expires)]
        return response


class _Documents:
    """OpenAPI documents of the resources at one time."""

    def __init__(self, published: Published, offload: Offload) -> None:
        self.published = published
        self._offload = offload
        self._made: dict[str, Any] = {}

    async def answer(self, request: Request, path: str, form: DocumentForm) -> Response:
        """Return the document in the format that the Accept header prefers, or 406 without a body."""
        chosen = preferred(request.headers.get("accept", ""), (JSON, *form.protobuf_types))
        if chosen is None:
            return Response(code=406, headers=[_VARY])
        if chosen == JSON:
            return _conditional(request, JSON, form.json)
        await self.do(form.steps())
        encoded = await self._offload.run(WORK_BYTES, lambda: form.protobuf)
        return _conditional(request, form.protobuf_types[0], encoded)

    async def v3(self, path: str) -> DocumentForm:
        """Return the v3 document of a path, rendered on first use."""
        await self.do(self.published.v3_steps(path))
        return await self._offload.run(WORK_BYTES, lambda: self.published.v3[path])

    async def do(self, steps: Iterable[Callable[[], None]]) -> None:
        """Run the steps in the thread one by one, so that other work can run in between."""
        for step in steps:
            await self._offload.run(WORK_BYTES, step)

    async def kept(self, name: str, make: Callable[[], T]) -> T:
        """Return the result of `make`, cached by name: building documents takes seconds."""
        if name not in self._made:
            self._made[name] = await self._offload.run(WORK_BYTES, make)
        found: T = self._made[name]
        return found


def _conditional(request: Request, content_type: str, encoded: Encoded) -> Response:
    """Return the body with its ETag, or 304 if If-None-Match names that."""
    tag = f'"{encoded.hash}"'
    headers = [("Etag", tag), _VARY]
    if names_tag(request.headers.get("if-none-match", ""), tag):
        return Response(code=304, headers=headers)
    return Response(content_type=content_type, body=encoded.body, headers=headers)


def preferred(accept: str, offers: Iterable[str]) -> str | None:
    """Return the offered media type that an Accept header prefers (the first among equals), or None if it has none.

    An empty header accepts anything. Parameters other than `q` are ignored.
    """
    offered = tuple(offers)
    best: tuple[float, str] | None = None
    for entry in (accept or "*/*").split(","):
        pattern, *parameters = (part.strip().lower() for part in entry.split(";"))
        quality = _quality(parameters)
        found = next((offer for offer in offered if pattern in (offer, "*/*", "application/*")), None)
        if found is not None and quality > (best[0] if best else 0.0):
            best = quality, found
    return best[1] if best else None


def _quality(parameters: Iterable[str]) -> float:
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 1.0
    return 1.0

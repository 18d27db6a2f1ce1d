"""OpenAPI documents of the served resources, in the format that a client accepts (reference OPENAPI-1, OPENAPI-3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from orchtw.endpoints.conditional import names_tag
from orchtw.registry.offload import Offload
from orchtw.registry.targets import Targets
from orchtw.request import Request, Response
from orchtw.schema.openapi.features import EVERYTHING, Features
from orchtw.schema.openapi.forms import DocumentForm, Encoded
from orchtw.schema.schemas import Schemas

if TYPE_CHECKING:
    from orchtw.schema.openapi.published import Published

T = TypeVar("T")

JSON = "application/json"
WORK_BYTES = 1 << 20  # assumed size of one step in the queue of the offload thread

_VARY = ("Vary", "Accept")


class OpenAPI:
    """Documents of both versions: built on first request, in the thread of `offload`, and after each change of the
    resources.
    """

    def __init__(
        self, targets: Targets, schemas: Schemas, offload: Offload, features: Features = EVERYTHING
    ) -> None:
        self.offload = offload
        self.features = features
        self._targets = targets
        self._schemas = schemas
        self._documents: OpenAPIDocuments | None = None
        self._before: Published | None = None
        targets.listen(self._forget)

    def _forget(self) -> None:
        self._documents = None

    def present(self) -> OpenAPIDocuments:
        """Return the documents of the current resources. A request calls this once, to see a consistent state."""
        if self._documents is None:
            from orchtw.schema.openapi.published import Published  # saves 15 ms at startup

            self._before = Published(self._schemas, self._targets.resources, self._before, self.features)
            self._documents = OpenAPIDocuments(self._before, self.offload)
        return self._documents


class OpenAPIDocuments:
    """OpenAPI documents of the resources at one time."""

    def __init__(self, published: Published, offload: Offload) -> None:
        self.published = published
        self._offload = offload
        self._made: dict[str, Any] = {}

    async def answer(self, request: Request, form: DocumentForm) -> Response:
        """Return the document in the format that the Accept header prefers, or 406 without a body."""
        chosen = preferred(request.headers.get("accept", ""), (JSON, *form.protobuf_types))
        if chosen is None:
            return Response(code=406, headers=[_VARY])
        if chosen == JSON:
            return conditional(request, JSON, form.json)
        await self.do(form.steps())
        encoded = await self._offload.run(WORK_BYTES, lambda: form.protobuf)
        return conditional(request, form.protobuf_types[0], encoded)

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


def conditional(request: Request, content_type: str, encoded: Encoded) -> Response:
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

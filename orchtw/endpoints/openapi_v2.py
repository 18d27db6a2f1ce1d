"""`/openapi/v2`: the OpenAPI 2.0 document of this server and of aggregated ones (reference OPENAPI-1)."""

from __future__ import annotations

from collections.abc import Iterable

from orchtw.endpoints.openapi import OpenAPI, OpenAPIDocuments
from orchtw.registry.aggregation.documents import RemoteDocuments
from orchtw.request import Request, Response

V2_PATH = "/openapi/v2"


class OpenAPIV2:
    """Endpoint of the v2 document. `remote` holds the documents of other servers."""

    methods = frozenset({"GET", "HEAD"})

    def __init__(self, openapi: OpenAPI, remote: RemoteDocuments) -> None:
        self._openapi = openapi
        self._remote = remote
        self._merged: tuple[OpenAPIDocuments, int, OpenAPIDocuments] | None = None

    def paths(self) -> Iterable[str]:
        """Return the path of the document."""
        return (V2_PATH,)

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return nothing: the document has one path."""
        return ()

    async def handle(self, request: Request, _path: str) -> Response:
        """Return the document, merged with those of others, in the negotiated format.

        The response is 304 if the client has it, and 406 without a body if it accepts no format.
        """
        documents = self._openapi.present()
        published, others, revision = documents.published, self._remote.v2, self._remote.revision
        await documents.do(published.v2_steps())
        if not others:
            return await documents.answer(request, await documents.kept(V2_PATH, lambda: published.v2))
        if self._merged is None or self._merged[:2] != (documents, revision):
            self._merged = documents, revision, OpenAPIDocuments(published, self._openapi.offload)
        together = self._merged[2]
        form = await together.kept(V2_PATH, lambda: published.v2_with(others))
        return await together.answer(request, form)

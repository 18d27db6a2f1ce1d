"""The paths that are not about objects: which endpoint answers which, the index, and what nobody answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import orjson

from orchtw.errors import MethodNotAllowed
from orchtw.request import Request, Response

INDEX = "/"
TEXT = "text/plain; charset=utf-8"
# Below these an unknown path is a group or version that is not served.
_API_PREFIXES = ("/api/", "/apis/")
_PAGE_NOT_FOUND = b"404 page not found\n"


class Endpoint(Protocol):
    """Answers a set of paths."""

    @property
    def methods(self) -> frozenset[str]:
        """The HTTP methods it answers; others get MethodNotAllowed (405)."""

    def paths(self) -> Iterable[str]:
        """The paths as the index shows them at present."""

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Other spellings, (spelling, path): answered, not shown."""

    async def handle(self, request: Request, path: str) -> Response:
        """Answer `path`, one of `paths`."""


Route = tuple[Endpoint, str]
Routes = dict[str, Route]


class Paths:
    """Endpoints by non-resource path. Paths are learnt at the first request; those of `changing` endpoints again
    after `forget`, when a path is asked for that no other endpoint has.

    A path that begins with a prefix of `trees` and a slash, and that no other endpoint has, belongs to that prefix.
    """

    def __init__(
        self,
        endpoints: Iterable[Endpoint],
        trees: Mapping[str, Endpoint] | None = None,
        changing: Iterable[Endpoint] = (),
    ) -> None:
        self._trees = trees or {}
        self._fixed = (*endpoints, *self._trees.values())
        self._changing = tuple(changing)
        self._fixed_routes: Routes = {}
        self._routes: Routes = {}
        self._index = b""

    async def __call__(self, request: Request) -> Response:
        """Answer the request.

        Unknown groups and versions are a bare 404; any other unknown path is a 404 with the index, which `/`
        shows with 200 (reference DISC-7). Raises MethodNotAllowed (405).
        """
        if not self._fixed_routes:
            self._fixed_routes = _routes(self._fixed)
        route = self._fixed_routes.get(request.path) or self._learnt(request.path)
        if route is not None:
            endpoint, path = route
            if request.method not in endpoint.methods:
                raise MethodNotAllowed
            return await endpoint.handle(request, path)
        if request.path.startswith(_API_PREFIXES):
            return Response(code=404, content_type=TEXT, body=_PAGE_NOT_FOUND)
        return Response(code=200 if request.path == INDEX else 404, content_type="application/json", body=self._index)

    def forget(self) -> None:
        """The endpoints have other paths now."""
        self._routes = {}

    def _learnt(self, path: str) -> Route | None:
        if not self._routes:
            self._routes = self._fixed_routes | _routes(self._changing)
            shown = sorted(each for endpoint in (*self._fixed, *self._changing) for each in endpoint.paths())
            self._index = orjson.dumps({"paths": shown}, option=orjson.OPT_INDENT_2)
        return self._routes.get(path) or self._tree(path)

    def _tree(self, path: str) -> Route | None:
        found = (endpoint for prefix, endpoint in self._trees.items() if path.startswith(f"{prefix}/"))
        return next(((endpoint, path) for endpoint in found), None)


def _routes(endpoints: Iterable[Endpoint]) -> Routes:
    found: Routes = {}
    for endpoint in endpoints:
        found |= {path: (endpoint, path) for path in endpoint.paths()}
        found |= {spelling: (endpoint, path) for spelling, path in endpoint.aliases()}
    return found

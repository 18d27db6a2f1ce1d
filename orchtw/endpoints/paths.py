"""Routing of non-resource paths to endpoints, the index at `/`, and unknown paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import orjson

from orchtw.errors import MethodNotAllowed
from orchtw.request import Request, Response

INDEX = "/"
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
# An unknown path below these names a group or version that is not served.
_API_PREFIXES = ("/api/", "/apis/")
_PAGE_NOT_FOUND = b"404 page not found\n"


class Endpoint(Protocol):
    """Handler of a set of paths."""

    @property
    def methods(self) -> frozenset[str]:
        """Return the supported HTTP methods; others raise MethodNotAllowed (405)."""

    def paths(self) -> Iterable[str]:
        """Return the current paths, which the index lists."""

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return pairs of an alias and its path; aliases are served but not listed."""

    async def handle(self, request: Request, path: str) -> Response:
        """Return the response for `path`, one of `paths` or the path of an alias."""


Route = tuple[Endpoint, str]
Routes = dict[str, Route]


class Paths:
    """Endpoints by non-resource path. The routes are built at the first request that needs them.

    Those of `changing` endpoints are rebuilt after `forget`. A path below a prefix of `trees` goes to its endpoint,
    unless another endpoint has exactly that path.
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
        """Return the endpoint's response. Raises MethodNotAllowed (405).

        Unknown groups and versions get a plain 404, any other unknown path a 404 with the index, and `/` the index
        with 200 (reference DISC-7).
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
        return Response(code=200 if request.path == INDEX else 404, content_type=JSON, body=self._index)

    def forget(self) -> None:
        """Discard the routes and the index after the paths of `changing` endpoints have changed."""
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

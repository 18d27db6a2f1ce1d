"""Endpoints of OpenAPI documents, and a base for their tests."""

from __future__ import annotations

from typing import NamedTuple, cast

import orjson
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.endpoints.openapi import OpenAPI
from orchtw.endpoints.openapi_v2 import OpenAPIV2
from orchtw.endpoints.openapi_v3 import OpenAPIV3
from orchtw.endpoints.paths import Paths
from orchtw.naming.naming import Naming
from orchtw.registry.aggregation.backends import Backends
from orchtw.registry.aggregation.documents import RemoteDocuments
from orchtw.registry.aggregation.services import ApiService, ApiServices
from orchtw.registry.offload import Offload
from orchtw.registry.targets import Targets
from orchtw.request import Peer, Request, Response
from orchtw.rules.runtime_config import enabled
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.openapi.features import EVERYTHING, Features

NAMING = Naming.orch()
CATALOGUE = Catalogue.load(NAMING)
CODECS = Codecs(CATALOGUE)
APPS = "/openapi/v3/apis/apps/v1"


class Served(NamedTuple):
    """The documents of a server and both endpoints."""

    openapi: OpenAPI
    v2: OpenAPIV2
    v3: OpenAPIV3

    def router(self) -> Paths:
        return Paths(self.both)

    @property
    def both(self) -> tuple[OpenAPIV2, OpenAPIV3]:
        return self.v2, self.v3


def served(*settings: tuple[str, str]) -> Served:
    """Of a server with this --runtime-config, at second 0 of 1970."""
    targets = Targets(CATALOGUE, CODECS, enabled(CATALOGUE, settings))
    return alone(targets, CODECS, Offload(None))


def alone(targets: Targets, codecs: Codecs, offload: Offload, features: Features = EVERYTHING) -> Served:
    """Return the OpenAPI endpoints of a server without aggregated servers."""
    services = ApiServices(targets, NAMING)
    remote = RemoteDocuments(services, cast(Backends, None), offload, Clock())

    async def pass_on(request: Request, service: ApiService) -> Response:
        raise AssertionError("there is no other server")

    openapi = OpenAPI(targets, codecs.schemas, offload, features)
    return Served(openapi, OpenAPIV2(openapi, remote), OpenAPIV3(openapi, remote, lambda: 0.0, pass_on))


SHARED = served()


def request(path: str, *, method: str = "GET", query: str = "", **headers: str) -> Request:
    lower = {key.replace("_", "-"): value for key, value in headers.items()}
    return Request(method=method, path=path, query=query, headers=lower, peer=Peer(address="127.0.0.1", port=1))


class OpenAPICase(SynchronousTestCase):
    """Asks endpoints that all tests share."""

    def ask(
        self, path: str, *, query: str = "", method: str = "GET", target: Served = SHARED, **headers: str
    ) -> Response:
        asked = request(path, query=query, method=method, **headers)
        answer: Response = self.successResultOf(Deferred.fromCoroutine(target.router()(asked)))
        return answer

    def header(self, response: Response, name: str) -> str:
        found = [value for key, value in response.headers if key == name]
        self.assertLess(len(found), 2, name)
        return found[0] if found else ""

    def right(self) -> str:
        """The relative URL of a document, off the index."""
        index = orjson.loads(bytes(self.ask("/openapi/v3").body))  # type: ignore[arg-type]
        url: str = index["paths"]["apis/apps/v1"]["serverRelativeURL"]
        return url

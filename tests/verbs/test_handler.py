"""Verbs of requests (reference REQ-14)."""

from __future__ import annotations

from typing import Any, cast

from orchtw.errors import MethodNotAllowed, NotFound
from orchtw.naming.naming import Naming
from orchtw.request import Peer, Request, Response
from orchtw.rules.request_info import parse
from orchtw.verbs.handler import PAGE_NOT_FOUND, ResourceHandler
from tests.client.world import WorldTestCase

MAPS = "/api/v1/namespaces/a/configmaps"


class ResourceHandlerTests(WorldTestCase):
    """A handler without any verb."""

    def handle(self, method: str, path: str) -> Response:
        none = cast(Any, None)
        handler = ResourceHandler(Naming.orch(), self.world.targets, none, {}, {}, none, {}, none, {})
        request = Request(method=method, path=path, peer=Peer(address="", port=0))
        request.info = parse(request.method, request.path, {})
        answer: Response = self.world.run(handler.handle(request))
        return answer

    def test_unknown_group(self) -> None:
        """A group that is not served is a plain page; a resource of a served group a Status (reference REQ-14)."""
        answer = self.handle("GET", "/apis/x.y/v1/foos")
        self.assertEqual((answer.code, answer.body), (404, PAGE_NOT_FOUND))
        self.assertRaises(NotFound, self.handle, "GET", "/api/v1/foos")

    def test_no_verb(self) -> None:
        """A verb without a function is not allowed, and neither is HEAD on an object (reference ERR-19)."""
        self.assertRaises(MethodNotAllowed, self.handle, "GET", f"{MAPS}/x")
        self.assertRaises(MethodNotAllowed, self.handle, "HEAD", f"{MAPS}/x")

    def test_no_subresource(self) -> None:
        """A sub-resource that the kind does not declare does not exist (reference WRITE-13)."""
        self.assertRaises(NotFound, self.handle, "GET", f"{MAPS}/x/foo")

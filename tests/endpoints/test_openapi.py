"""`/openapi/v2` and `/openapi/v3` over HTTP (reference OPENAPI-1, OPENAPI-3)."""
# covers: orchtw.schema.openapi.parameters, orchtw.schema.openapi.v2

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import orjson
from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.endpoints.openapi import preferred
from orchtw.endpoints.paths import Paths
from orchtw.errors import MethodNotAllowed
from orchtw.filters.chain import Placed, line
from orchtw.filters.common_headers import CommonHeaders
from orchtw.registry.offload import Offload
from orchtw.registry.targets import Targets
from orchtw.request import Request, Response
from orchtw.schema.codec.codecs import Codecs
from orchtw.storage.cache.watch_cache import Cacher
from tests.client.world import MemoryStore
from tests.endpoints.openapi_case import APPS, CATALOGUE, SHARED, OpenAPICase, alone, request, served
from tests.registry.widgets import GROUP, versions

AT = "application/com.github.proto-openapi.spec.{}@v1.0+protobuf"
DOT = "application/com.github.proto-openapi.spec.{}.v1.0+protobuf"
WIDGETS = f"/openapi/v3/apis/{GROUP}/v1"
T = TypeVar("T")


class NegotiationTests(OpenAPICase):
    def test_json(self) -> None:
        """JSON is the default of v2 and v3, and what a wildcard gets (reference OPENAPI-3)."""
        for path in ("/openapi/v2", APPS):
            for accept in ("", "*/*", "application/json", "application/*"):
                found = self.ask(path, accept=accept)
                self.assertEqual((found.code, found.content_type), (200, "application/json"))
                self.assertIn(orjson.loads(found.body).get("swagger", "3"), ("2.0", "3"))  # type: ignore[arg-type]

    def test_protobuf(self) -> None:
        """Both spellings of the binary type are understood; answers bear the one that is a valid media type
        (reference OPENAPI-3).
        """
        for version, path in (("v2", "/openapi/v2"), ("v3", APPS)):
            bodies = set()
            for spelling in (AT, DOT):
                found = self.ask(path, accept=spelling.format(version))
                self.assertEqual((found.code, found.content_type), (200, DOT.format(version)))
                bodies.add(found.body)
            self.assertEqual(len(bodies), 1)
            self.assertNotIn(self.ask(path).body, bodies)

    def test_not_acceptable(self) -> None:
        """Any other type is a 406 without a body."""
        for path, accept in (("/openapi/v2", "text/html"), ("/openapi/v2", AT.format("v3")), (APPS, "text/*")):
            found = self.ask(path, accept=accept)
            self.assertEqual((found.code, found.body, self.header(found, "Vary")), (406, b"", "Accept"))

    def test_preferred(self) -> None:
        """Quality decides, then the order of the header; quality 0 is a refusal (RFC 9110 §12.5.1)."""
        offers = ("application/json", "application/x")
        for accept, chosen in {
            "": "application/json",
            "application/x": "application/x",
            "application/x,application/json": "application/x",
            "application/x;q=0.5, application/json": "application/json",
            "text/html, */*;q=0.1": "application/json",
            "Application/X ; q=1": "application/x",
            "application/json;q=0": None,
            "application/json;q=x": "application/json",
            "text/html": None,
        }.items():
            self.assertEqual(preferred(accept, offers), chosen, accept)


class CachingTests(OpenAPICase):
    def test_etag(self) -> None:
        """Each form has a quoted ETag of its own, and answers vary by Accept."""
        tags = set()
        for accept in ("application/json", AT.format("v2")):
            found = self.ask("/openapi/v2", accept=accept)
            self.assertRegex(self.header(found, "Etag"), r'^"[0-9A-F]{64}"$')
            self.assertEqual(self.header(found, "Vary"), "Accept")
            tags.add(self.header(found, "Etag"))
        self.assertEqual(len(tags), 2)

    def test_not_modified(self) -> None:
        """A client that has the bytes gets 304, no body and the same ETag."""
        for path in ("/openapi/v2", "/openapi/v3", APPS):
            tag = self.header(self.ask(path), "Etag")
            for given in (tag, f'"other", W/{tag}', "*"):
                found = self.ask(path, if_none_match=given)
                self.assertEqual((found.code, found.body, self.header(found, "Etag")), (304, b"", tag))
            self.assertEqual(self.ask(path, if_none_match='"other"').code, 200)

    def test_changed(self) -> None:
        """Other resources make other bytes, under another ETag and other hashes."""
        less = served(("apps/v1", "false"))
        first, second = self.ask("/openapi/v2"), self.ask("/openapi/v2", target=less)
        self.assertNotEqual(self.header(first, "Etag"), self.header(second, "Etag"))
        self.assertIn(b"/apis/apps/v1/", first.body)
        self.assertNotIn(b"/apis/apps/v1/", second.body)
        self.assertNotIn(b'"apis/apps/v1"', self.ask("/openapi/v3", target=less).body)


class PathTests(OpenAPICase):
    def test_index_of_the_server(self) -> None:
        """The server's index shows both versions, but not each document."""
        self.assertEqual([*SHARED.v2.paths(), *SHARED.v3.paths()], ["/openapi/v2", "/openapi/v3"])

    def test_methods(self) -> None:
        """Only GET and HEAD are answered."""
        self.assertEqual(self.ask("/openapi/v2", method="HEAD").code, 200)
        failing = Deferred.fromCoroutine(SHARED.router()(request("/openapi/v2", method="POST")))
        self.failureResultOf(failing, MethodNotAllowed)

    def test_nothing_is_made_early(self) -> None:
        """Making the endpoint and learning its paths makes no document."""
        fresh = served()
        for each in fresh.both:
            list(each.paths())
        self.assertIsNone(fresh.openapi._documents)
        for each in fresh.both:
            list(each.aliases())
        self.assertNotIn("v2", vars(fresh.openapi.present().published))


class HeldOffload(Offload):
    """Offload that runs its work when the test says so."""

    def __init__(self) -> None:
        super().__init__(None)
        self.held: list[Callable[[], None]] = []

    def run(self, size: int, work: Callable[[], T]) -> Deferred[T]:  # type: ignore[override]
        done: Deferred[T] = Deferred()
        self.held.append(lambda: done.callback(work()))
        return done


class ChangeTests(OpenAPICase):
    """Config maps alone, and then widgets beside them."""

    def setUp(self) -> None:
        clock = Clock()
        codecs = Codecs(CATALOGUE)
        few = [each for each in CATALOGUE.resources if each.plural == "configmaps"]
        self.targets = Targets(CATALOGUE, codecs, few)
        cacher = Cacher(MemoryStore(clock), clock, lambda flush: clock.callLater(0, flush))
        self.successResultOf(ensureDeferred(self.targets.open(cacher)))
        self.addCleanup(lambda: self.successResultOf(ensureDeferred(cacher.stop())))
        self.offload = HeldOffload()
        self.paths = Paths([], changing=alone(self.targets, codecs, self.offload).both)
        self.targets.listen(self.paths.forget)
        self.widgets = versions(codecs.schemas)

    def add(self) -> None:
        self.successResultOf(ensureDeferred(self.targets.add(self.widgets)))

    def begin(self, path: str, **headers: str) -> Deferred[Response]:
        return Deferred.fromCoroutine(self.paths(request(path, **headers)))

    def finish(self) -> None:
        """Run the outstanding work, and the work that it causes."""
        while self.offload.held:
            self.offload.held.pop(0)()

    def get(self, path: str, **headers: str) -> Response:
        answer = self.begin(path, **headers)
        self.finish()
        found: Response = self.successResultOf(answer)
        return found

    def test_added_and_removed(self) -> None:
        """Documents and their ETags follow the resources, and are the same bytes as before when they are back."""
        before = self.get("/openapi/v2")
        self.assertEqual(self.get(WIDGETS).code, 404)
        self.add()
        during = self.get("/openapi/v2", if_none_match=self.header(before, "Etag"))
        self.assertEqual(during.code, 200)
        self.assertIn(b"com.example.shop.v1.Widget", bytes(during.body))  # type: ignore[arg-type]
        self.assertEqual(self.get(WIDGETS).code, 200)
        self.assertIn(b"shop.example.com/v1?hash", bytes(self.get("/openapi/v3").body))  # type: ignore[arg-type]
        self.targets.remove(GROUP, "widgets")
        self.assertEqual(self.get(WIDGETS).code, 404)
        self.assertEqual(self.get("/openapi/v2", if_none_match=self.header(before, "Etag")).code, 304)

    def test_change_while_it_is_made(self) -> None:
        """A document under way when resources change is of the time of its request, and nobody else's."""
        self.add()
        for accept in ("application/json", AT.format("v2")):
            early = self.begin("/openapi/v2", accept=accept)
            self.targets.remove(GROUP, "widgets")
            self.finish()
            self.assertIn(b"com.example.shop.v1.Widget", bytes(self.successResultOf(early).body))  # type: ignore[arg-type]
            late = self.get("/openapi/v2", accept=accept)
            self.assertNotIn(b"com.example.shop.v1.Widget", bytes(late.body))  # type: ignore[arg-type]
            self.add()

    def test_removed_document_under_way(self) -> None:
        """A v3 document is made although its resource has been removed meanwhile."""
        self.add()
        early = self.begin(WIDGETS)
        self.targets.remove(GROUP, "widgets")
        self.finish()
        self.assertEqual(self.successResultOf(early).code, 200)


class CacheControlTests(SynchronousTestCase):
    def values(self, response: Response) -> list[str]:
        """Every Cache-Control of `response` after it went through the line of stages."""

        async def answer(_request: Request) -> Response:
            return response

        app = line([Placed("common-headers", CommonHeaders())], answer)
        found: Response = self.successResultOf(Deferred.fromCoroutine(app(request("/"))))
        return [value for name, value in found.headers if name == "Cache-Control"]

    def test_own(self) -> None:
        """A response that says how it may be kept is left alone (reference OPENAPI-5)."""
        own = Response(headers=[("Cache-Control", "public, immutable")])
        self.assertEqual(self.values(own), ["public, immutable"])

    def test_default(self) -> None:
        """Any other response may not be kept (reference REQ-22)."""
        self.assertEqual(self.values(Response()), ["no-cache, private"])

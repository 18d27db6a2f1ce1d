"""OpenAPI documents of other servers, fetched."""

from __future__ import annotations

from typing import Any, cast

import orjson

from orchtw.registry.aggregation.backends import BackendAnswer, Backends
from orchtw.registry.aggregation.documents import INTERVAL_S, RemoteDocuments
from orchtw.registry.offload import Offload
from tests.registry.aggregation.doubles import Servers, answer
from tests.registry.aggregation.test_services import AVAILABLE
from tests.registry.aggregation.worlds import AggregationCase, api_service

V2, V3 = "/openapi/v2", "/openapi/v3"
DOCUMENT = {"swagger": "2.0", "paths": {"/apis/example.com/v1/lamps": {"get": {"operationId": "list"}}}}
INDEX = {"paths": {"apis/example.com/v1": {"serverRelativeURL": f"{V3}/apis/example.com/v1?hash=AB&x=1"}}}


class RemoteDocumentsTests(AggregationCase):
    def setUp(self) -> None:
        super().setUp()
        self.servers = Servers()
        world = self.world
        self.documents = RemoteDocuments(
            self.services, cast(Backends, self.servers), Offload(world.clock), world.clock
        )
        self.told = 0
        self.documents.listen(self.hear)
        self.documents.startService()
        self.addCleanup(self.documents.stopService)

    def hear(self) -> None:
        self.told += 1

    def available(self, **answers: Any) -> None:
        """An APIService whose server has these documents."""
        self.servers.answers = {f"/openapi/{name}": found for name, found in answers.items()}
        self.make(api_service())
        self.world.settle()
        self.assertEqual(self.servers.asked, [])
        self.change("v1.example.com", AVAILABLE, "status")
        self.world.settle()

    def paths(self) -> list[str]:
        """Return the documents that are merged into v2."""
        return [path for each in self.documents.v2 for path in each.paths]

    def test_fetched(self) -> None:
        """Both versions, as soon as the server is available, and gone with it (reference AGG-13)."""
        self.available(v2=answer(body=orjson.dumps(DOCUMENT)), v3=answer(body=orjson.dumps(INDEX)))
        self.assertEqual(self.paths(), ["/apis/example.com/v1/lamps"])
        hashes = {path: found for path, (_, found) in self.documents.v3.items()}
        self.assertEqual(hashes, {"apis/example.com/v1": "AB"})
        self.assertEqual(self.told, 1)
        self.assertEqual({user for _, user in self.servers.asked}, {"system:aggregator"})
        self.delete("v1.example.com")
        self.assertEqual((self.paths(), dict(self.documents.v3), self.told), ([], {}, 2))

    def test_again(self) -> None:
        """Every minute, with the tag of what is known (reference AGG-13)."""
        sent: list[Any] = []

        def v2(headers: Any) -> BackendAnswer:
            sent.append(dict(headers).get("If-None-Match"))
            return answer(304) if sent[-1] else answer(body=orjson.dumps(DOCUMENT), Etag='"1"')

        self.available(v2=v2)
        self.world.settle(2 * INTERVAL_S)
        self.assertEqual(sent, [None, '"1"', '"1"'])
        self.assertEqual((self.paths(), self.told), (["/apis/example.com/v1/lamps"], 1))

    def test_failures(self) -> None:
        """Missing and malformed documents change nothing (reference AGG-13)."""
        self.available(v2=answer(body=orjson.dumps(DOCUMENT)), v3=answer(body=orjson.dumps(INDEX)))
        for odd in ("EOF", answer(500), answer(body=b"{"), answer(body=b'{"paths":[]}'), answer(body=b"[" * 100_000)):
            self.servers.answers = {V2: odd, V3: odd if isinstance(odd, str) else answer(503)}
            self.world.settle(INTERVAL_S)
            self.assertEqual(self.paths(), ["/apis/example.com/v1/lamps"])
            self.assertEqual(list(self.documents.v3), ["apis/example.com/v1"])
        self.assertEqual(self.told, 1)

    def test_without(self) -> None:
        """A server need not have any (reference AGG-8)."""
        self.available(v2=answer(404), v3=answer(body=b'{"paths":{}}'))
        self.assertEqual((self.paths(), dict(self.documents.v3), self.told), ([], {}, 0))

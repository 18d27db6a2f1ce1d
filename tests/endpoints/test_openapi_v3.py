"""`/openapi/v3` over HTTP (reference OPENAPI-2, OPENAPI-5, OPENAPI-6)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.registry.offload import Offload
from orchtw.registry.targets import Targets
from orchtw.rules.runtime_config import enabled
from orchtw.schema.openapi.features import Features
from tests.endpoints.openapi_case import APPS, CATALOGUE, CODECS, OpenAPICase, alone


class GateTests(SynchronousTestCase):
    def test_v3(self) -> None:
        """Without its gate there is nothing of version 3 (reference OPENAPI-19)."""
        shown = alone(Targets(CATALOGUE, CODECS, enabled(CATALOGUE, ())), CODECS, Offload(None), Features(v3=False))
        self.assertEqual((tuple(shown.v3.paths()), tuple(shown.v3.aliases())), ((), ()))


class VersionThreeTests(OpenAPICase):
    def test_index(self) -> None:
        """The index names each document's place with its hash."""
        self.assertRegex(self.right(), rf"^{APPS}\?hash=[0-9A-F]{{64}}$")
        self.assertEqual(self.ask("/openapi/v3/").body, self.ask("/openapi/v3").body)

    def test_right_hash(self) -> None:
        """Under its hash a document may be kept for a year."""
        path, _, query = self.right().partition("?")
        found = self.ask(path, query=query)
        self.assertEqual(found.code, 200)
        self.assertEqual(self.header(found, "Cache-Control"), "public, immutable")
        self.assertEqual(self.header(found, "Expires"), "Fri, 01 Jan 1971 00:00:00 GMT")

    def test_wrong_hash(self) -> None:
        """Another hash is a 301 to the right one, which may not be kept (reference REQ-29, OPENAPI-6)."""
        found = self.ask(APPS, query="hash=0123")
        self.assertEqual((found.code, self.header(found, "Location")), (301, self.right()))
        self.assertEqual(self.header(found, "Cache-Control"), "")

    def test_no_hash(self) -> None:
        """Without a hash there is the document, which may not be kept."""
        found = self.ask(APPS)
        self.assertEqual((found.code, self.header(found, "Expires")), (200, ""))

    def test_unknown_document(self) -> None:
        """A document of something that is not served is a 404."""
        self.assertEqual(self.ask("/openapi/v3/apis/apps/v9").code, 404)

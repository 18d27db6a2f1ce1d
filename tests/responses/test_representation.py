"""Line ends of JSON responses of every kind (reference ENC-20)."""

from __future__ import annotations

from typing import Any

import orjson

from orchtw.responses import representation
from orchtw.testing.in_process import ClientAnswer
from orchtw.wire.objects import Object
from tests.verbs.served import DEFAULT, MERGE, ServedCase

MAPS = f"{DEFAULT}/configmaps"
AS = "application/json;as={};v=v1;g=meta.orch.io"
DEFINITION: Object = {
    "metadata": {"name": "lamps.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "lamps", "kind": "Lamp"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
            "type": "object", "x-orch-preserve-unknown-fields": True}}}],
    },
}


class LineEndTests(ServedCase):
    def setUp(self) -> None:
        super().setUp()
        for number in range(3):
            self.done("POST", "configmaps", {"metadata": {"name": f"a{number}"}, "data": {"a": "b"}})

    def assertEnds(self, method: str, url: str, body: Any = None, headers: dict[str, str] | None = None) -> None:
        """Compact with one line end, indented without, however that is asked for."""
        compact = self.send(method, url, body, headers)
        self.assertEnd(compact, b"}\n")
        again = f"{url}{'&' if '?' in url else '?'}pretty=1"
        for asked, more in ((again, {}), (url, {"user-agent": "curl/8"}), (again, {"accept-encoding": "gzip"})):
            pretty = self.send(method, asked, body, {**(headers or {}), **more})
            self.assertEnd(pretty, b"\n}")
        self.assertEnd(self.send(method, again.replace("pretty=1", "pretty=0"), body, headers), b"}\n")

    def assertEnd(self, answer: ClientAnswer, end: bytes) -> None:
        self.assertEqual(answer.headers["content-type"], "application/json")
        self.assertEqual(answer.body[-2:], end, answer.body[-200:])
        orjson.loads(answer.body)
        self.assertEqual(answer.body.count(b"\n") > 1, end == b"\n}")

    def test_objects(self) -> None:
        """Objects as they are, as Tables and as partial metadata, small and large."""
        self.done("PATCH", "configmaps/a1", {"data": {"x": "y" * 500_000}}, MERGE)
        for name in ("a0", "a1"):
            for headers in (None, {"accept": AS.format("Table")}, {"accept": AS.format("PartialObjectMetadata")}):
                self.assertEnds("GET", f"{MAPS}/{name}", None, headers)

    def test_lists(self) -> None:
        """Lists of every length and form, none, and part of one."""
        lists = (MAPS, f"{MAPS}?limit=2", f"{MAPS}?labelSelector=a%3Db", "/api/v1/configmaps", "/api/v1/nodes")
        for url in lists:
            for headers in (None, *({"accept": AS.format(each)} for each in ("Table", "PartialObjectMetadataList"))):
                self.assertEnds("GET", url, None, headers)
        for number in range(2):
            self.done("PATCH", f"configmaps/a{number}", {"data": {"x": "y" * 500_000}}, MERGE)
        self.assertEnds("GET", MAPS)

    def test_unmeasured_list(self) -> None:
        """A list that is made while it is sent."""
        async def unmeasured(*_work: Any) -> None:
            return None

        self.patch(representation, "in_some_turns", unmeasured)
        self.assertEnd(self.send("GET", MAPS), b"}\n")

    def test_writes(self) -> None:
        """Responses of writes, refusals included, end with a newline."""
        body = {"metadata": {"name": "b"}}
        self.assertEnds("POST", f"{MAPS}?dryRun=All", body)
        self.assertEnds("PATCH", f"{MAPS}/a0?dryRun=All", {"data": {"c": "d"}}, MERGE)
        self.assertEnds("DELETE", f"{MAPS}/a0?dryRun=All")
        review = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
        self.assertEnds("POST", "/apis/authorization.orch.io/v1/selfsubjectaccessreviews", review)
        self.assertEnds("POST", MAPS, {"metadata": {"name": "a0"}})
        self.assertEnds("GET", f"{MAPS}/none")
        self.assertEnds("GET", MAPS, None, {"authorization": "Bearer x"})
        self.assertEnds("GET", MAPS, None, {"accept": AS.format("Table"), "impersonate-user": "u"})

    def test_custom(self) -> None:
        """Custom objects end with a newline too."""
        self.done("POST", "/apis/apiextensions.orch.io/v1/customresourcedefinitions", DEFINITION)
        for _ in range(50):
            self.clock.advance(1)
        lamps = "/apis/example.com/v1/namespaces/default/lamps"
        lamp = {"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"name": "a"}, "x": 1}
        self.assertEqual(self.send("POST", lamps, lamp).code, 201)
        for url in (lamps, f"{lamps}/a"):
            for headers in (None, {"accept": AS.format("Table")}):
                self.assertEnds("GET", url, None, headers)

    def test_discovery(self) -> None:
        """Discovery, from the cache too."""
        for url in ("/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1") * 2:
            self.assertEnds("GET", url)

    def test_others(self) -> None:
        """Responses that are not API objects have no line end, in any form."""
        for url in ("/version", "/", "/nope", "/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1"):
            for headers in ({}, {"user-agent": "curl/8"}):
                answer = self.send("GET", url, None, headers)
                self.assertEqual(answer.headers["content-type"], "application/json", url)
                self.assertEqual(answer.body[-1:], b"}", url)

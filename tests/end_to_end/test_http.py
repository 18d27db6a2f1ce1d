"""Media types, HTTP behaviour and discovery seen from outside.

Each test is named after its rule; the docstrings cite the reference.
"""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import yaml

from orchtw.schema.codec.envelope import unwrap
from tests.end_to_end.case import surface
from tests.end_to_end.client import Answer
from tests.end_to_end.objects import TABLE, ConventionCase, config_map
from tests.schema.codec.envelopes import opened

GZIP_BYTES = 128 * 1024


class NegotiationTests(ConventionCase):
    async def get(self, accept: str, path: str = "") -> Answer:
        return await self.client.get(path or f"{self.maps}/a", accept)

    async def test_json_is_the_default(self) -> None:
        """Absent, `*/*` and `application/*` mean JSON; quality orders (reference ENC-2)."""
        await self.make()
        protobuf = self.naming.protobuf_media_type
        table = {
            "": "application/json",
            "*/*": "application/json",
            "application/*": "application/json",
            "text/html, application/*;q=0.9": "application/json",
            f"{protobuf}, application/json": protobuf,
            f"{protobuf};q=0.5, application/json": "application/json",
            "application/json;as=Table;v=v9;g=nope, application/yaml": "application/yaml",
        }
        for accept, expected in table.items():
            self.assertEqual((await self.get(accept)).headers["content-type"], expected, accept)

    async def test_yaml(self) -> None:
        """YAML bodies and answers say the same as JSON (reference ENC-1, ENC-10)."""
        body = yaml.safe_dump(config_map("a")).encode()
        headers = {"Content-Type": "application/yaml", "Accept": "application/yaml"}
        answer = await self.client.send("POST", self.maps, body, headers)
        self.assertEqual((answer.code, answer.headers["content-type"]), (201, "application/yaml"))
        self.assertEqual(yaml.load(answer.body, yaml.BaseLoader), (await self.get("")).json)

    async def test_protobuf(self) -> None:
        """Bodies and answers are envelopes; their formats are chosen apart (reference ENC-1)."""
        protobuf, codec = self.naming.protobuf_media_type, surface(self.vocabulary)[1].kind("v1", "ConfigMap")
        body = codec.encode_envelope(codec.normalise(config_map("a")))
        answer = await self.client.send("POST", self.maps, body, {"Content-Type": protobuf})
        made = await self.ok(answer, 201)
        shown = await self.get(protobuf)
        self.assertEqual(shown.headers["content-type"], protobuf)
        self.assertEqual(unwrap(shown.body)[:2], ("v1", "ConfigMap"))
        self.assertEqual(opened(codec, shown.body), made)

    async def test_not_acceptable(self) -> None:
        """No media type that can be served is a 406 that lists them (reference ERR-29)."""
        await self.make()
        answer = await self.get("image/png")
        self.assertRefused(
            answer, 406, "NotAcceptable",
            "only the following media types are accepted: application/json, application/yaml, "
            + self.naming.protobuf_media_type,
        )

    async def test_unsupported_body(self) -> None:
        """A body of another type is a 415 that lists the types (reference ERR-31)."""
        text = "the body of the request was in an unknown format - accepted media types include: "
        answer = await self.client.send("POST", self.maps, b"x", {"Content-Type": "text/plain"})
        types = f"application/json, application/yaml, {self.naming.protobuf_media_type}"
        self.assertRefused(answer, 415, "UnsupportedMediaType", text + types)

    async def test_status_in_the_asked_format(self) -> None:
        """Refusals come in the negotiated format (reference ENC-7)."""
        protobuf = self.naming.protobuf_media_type
        binary = await self.get(protobuf)
        self.assertEqual((binary.code, binary.headers["content-type"]), (404, protobuf))
        status = opened(surface(self.vocabulary)[1].kind("v1", "Status"), binary.body)
        self.assertEqual((status["reason"], status["message"]), ("NotFound", 'configmaps "a" not found'))
        self.assertEqual(yaml.safe_load((await self.get("application/yaml")).body)["reason"], "NotFound")

    async def test_table(self) -> None:
        """A list as a Table has columns, a row for each item and its metadata (reference TABLE-1, TABLE-4)."""
        await self.make()
        table = (await self.get(TABLE, self.maps)).json
        self.assertEqual((table["kind"], table["apiVersion"]), ("Table", "meta.orch.io/v1"))
        self.assertEqual([column["name"] for column in table["columnDefinitions"]], ["Name", "Data", "Age"])
        (row,) = table["rows"]
        self.assertEqual(row["cells"][:2], ["a", 1])
        self.assertEqual(row["object"]["kind"], "PartialObjectMetadata")
        self.assertNotIn("data", row["object"])

    async def test_default_table(self) -> None:
        """Kinds without columns of their own show name and time of creation (reference TABLE-5, TABLE-8)."""
        made = await self.created(self.core("limitranges"), {"metadata": {"name": "l"}, "spec": {"limits": []}})
        table = (await self.get(TABLE, self.core("limitranges", "l"))).json
        columns = [(column["name"], column["type"]) for column in table["columnDefinitions"]]
        self.assertEqual([(name, kind) for name, kind in columns], [("Name", "string"), ("Created At", "date")])
        self.assertEqual(table["rows"][0]["cells"], ["l", made["metadata"]["creationTimestamp"]])
        self.assertEqual(table["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"])

    async def test_include_object(self) -> None:
        """includeObject says what of the object is in a row (reference TABLE-4)."""
        made = await self.make()
        full = (await self.get(TABLE, f"{self.maps}?includeObject=Object")).json["rows"][0]["object"]
        self.assertEqual(full, made)
        self.assertIsNone((await self.get(TABLE, f"{self.maps}?includeObject=None")).json["rows"][0]["object"])
        answer = await self.get(TABLE, f"{self.maps}?includeObject=Foo")
        self.assertEqual(answer.code, 400)
        self.assertIn("must be 'Metadata', 'Object', 'None', or empty", answer.json["message"])

    async def test_partial_metadata(self) -> None:
        """Objects and lists can be had without anything but their metadata (reference TABLE-9)."""
        made = await self.make()
        form = "application/json;as=PartialObjectMetadata{};g=meta.orch.io;v=v1"
        one = {"kind": "PartialObjectMetadata", "apiVersion": "meta.orch.io/v1", "metadata": made["metadata"]}
        self.assertEqual((await self.get(form.format(""))).json, one)
        several = (await self.get(form.format("List"), self.maps)).json
        self.assertEqual((several["kind"], several["items"]), ("PartialObjectMetadataList", [one]))
        wrong = await self.get(form.format("List"))
        self.assertEqual((wrong.code, wrong.json["reason"]), (406, "NotAcceptable"))
        start = "you requested PartialObjectMetadataList, but the requested object is not a list"
        self.assertTrue(wrong.json["message"].startswith(start), wrong)


class HTTPTests(ConventionCase):
    async def test_headers(self) -> None:
        """Every answer has an Audit-Id, the request's own if it has one, and may not be cached (reference REQ-22)."""
        answer = await self.client.get(self.maps)
        self.assertRegex(answer.headers["audit-id"], r"^[0-9a-f-]{36}$")
        self.assertEqual(answer.headers["cache-control"], "no-cache, private")
        echoed = await self.client.send("GET", "/api/v1/nope", None, {"Audit-ID": "mine"})
        self.assertEqual(echoed.headers["audit-id"], "mine")

    async def test_pretty(self) -> None:
        """JSON is indented on demand, and for curl, Wget and browsers unless they decline (reference REQ-20)."""
        made = await self.make()
        compact = json.dumps(made, separators=(",", ":")).encode() + b"\n"
        curl = {"User-Agent": "curl/8.0"}
        path = f"{self.maps}/a"
        self.assertEqual((await self.client.get(path)).body, compact)
        for query, headers in (("?pretty=true", {}), ("?pretty=1", {}), ("", curl)):
            shown = await self.client.send("GET", path + query, None, headers)
            self.assertTrue(shown.body.startswith(b'{\n  "kind": "ConfigMap",\n'), shown)
            self.assertTrue(shown.body.endswith(b"\n}"), shown)
            self.assertEqual(shown.json, made)
        self.assertEqual((await self.client.send("GET", f"{path}?pretty=false", None, curl)).body, compact)

    async def test_ends(self) -> None:
        """Compact JSON ends with a newline, indented JSON does not, whatever is answered (reference ENC-20)."""
        await self.make()
        for path, accept in (
            (self.maps, "application/json"),
            (f"{self.maps}?limit=1", "application/json"),
            (f"{self.maps}/a", "application/json"),
            (f"{self.maps}/no", "application/json"),
            (self.maps, "application/json;as=Table;v=v1;g=meta.orch.io"),
            (self.maps, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.orch.io"),
            ("/api", "application/json"),
            ("/apis", "application/json"),
            ("/api/v1", "application/json"),
        ):
            for pretty, end in (("false", b"}\n"), ("true", b"\n}")):
                query = f"{path}{'&' if '?' in path else '?'}pretty={pretty}"
                answer = await self.client.send("GET", query, None, {"Accept": accept})
                self.assertEqual(answer.body[-2:], end, query)
                self.assertEqual(answer.headers.get("content-length", str(len(answer.body))), str(len(answer.body)))

    async def test_gzip(self) -> None:
        """Large answers are compressed for those who accept it, small ones and watches never (reference REQ-24)."""
        big = config_map("big") | {"data": {"k": "x" * (2 * GZIP_BYTES)}}
        made = await self.created(self.maps, big)
        accept = {"Accept-Encoding": "gzip"}
        answer = await self.client.send("GET", f"{self.maps}/big", None, accept)
        self.assertEqual((answer.headers["content-encoding"], answer.headers["vary"]), ("gzip", "Accept-Encoding"))
        self.assertLess(len(answer.body), GZIP_BYTES)
        self.assertEqual(json.loads(gzip.decompress(answer.body)), made)
        listed = await self.client.send("GET", self.maps, None, accept)
        self.assertEqual(json.loads(gzip.decompress(listed.body))["items"][0]["data"], made["data"])
        for headers in ({}, {"Accept-Encoding": "gzip;q=0"}):
            plain = await self.client.send("GET", f"{self.maps}/big", None, headers)
            self.assertEqual((plain.json, plain.headers.get("content-encoding")), (made, None))
        small = await self.client.send("GET", self.core("pods"), None, accept)
        self.assertNotIn("content-encoding", small.headers)

    async def test_head(self) -> None:
        """HEAD on a resource is a 405 (reference REQ-14)."""
        self.assertEqual((await self.client.send("HEAD", self.maps)).code, 405)

    async def test_not_found(self) -> None:
        """An unknown resource is a Status; an unknown group or version is text (reference ERR-18)."""
        generic = "the server could not find the requested resource"
        status = self.assertRefused(await self.client.get("/api/v1/foos"), 404, "NotFound", generic)
        self.assertEqual(status["details"], {})
        for path in ("/apis/nope.io/v1", "/apis/nope.io/v1/things", "/apis/apps/v9/deployments", "/api/v2"):
            answer = await self.client.get(path)
            self.assertEqual((answer.code, answer.body), (404, b"404 page not found\n"), path)
            self.assertTrue(answer.headers["content-type"].startswith("text/plain"))

    async def test_namespace_on_a_cluster_resource(self) -> None:
        """Cluster resources are not in namespaces, and namespaced objects not without one (reference REQ-7)."""
        for path in (self.core("nodes"), "/api/v1/configmaps/a"):
            self.assertEqual((await self.client.get(path)).code, 404, path)

    async def test_slashes(self) -> None:
        """A slash at the end is fine; doubled ones and dots are not cleaned away (reference REQ-10)."""
        self.assertEqual((await self.client.get(f"{self.maps}/")).code, 200)
        for path in ("//api/v1/pods", "/api/v1//pods", "/api/v1/../v1/pods", "/healthz/"):
            self.assertEqual((await self.client.get(path)).code, 404, path)

    async def test_escapes(self) -> None:
        """Names are percent-decoded once (reference REQ-9)."""
        role = self.unique("system:role")
        group = self.naming.group("rbac.authorization.orch.io")
        path = f"/apis/{group}/v1/clusterroles"
        await self.created(path, {"metadata": {"name": role}})
        shown = await self.client.get(f"{path}/{role.replace(':', '%3A')}")
        self.assertEqual(shown.json["metadata"]["name"], role)

    async def test_unknown_user(self) -> None:
        """Without credentials everything but health and version is refused (reference ERR-26, AUTHN-39)."""
        bare = self.anonymous()
        answer = await bare.get(self.maps)
        self.assertEqual((answer.code, answer.json["reason"]), (403, "Forbidden"))
        self.assertEqual(
            answer.json["message"],
            'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" '
            f'in the namespace "{self.namespace}"',
        )
        self.assertEqual(answer.headers["x-content-type-options"], "nosniff")
        self.assertEqual((await bare.get("/version")).code, 200)

    async def test_wrong_token(self) -> None:
        """A bearer token that nobody knows is a 401 (reference ERR-25, AUTHN-9)."""
        answer = await self.anonymous(Authorization="Bearer nonsense").get(self.maps)
        status = self.assertRefused(answer, 401, "Unauthorized", "Unauthorized")
        self.assertNotIn("details", status)
        self.assertNotIn("www-authenticate", answer.headers)


class DiscoveryTests(ConventionCase):
    async def test_versions(self) -> None:
        """/api names v1 and this server's address (reference DISC-1)."""
        shown = (await self.client.get("/api")).json
        self.assertEqual(list(shown), ["kind", "versions", "serverAddressByClientCIDRs"])
        (address,) = shown["serverAddressByClientCIDRs"]
        self.assertEqual(address["serverAddress"], f"127.0.0.1:{self.server.port}")

    async def test_groups(self) -> None:
        """/apis lists the groups in the order of their priority; each leads to its versions' resources
        (reference DISC-2, DISC-3).
        """
        groups = (await self.client.get("/apis")).json["groups"]
        order = [group["name"] for group in groups]
        self.assertEqual(order[:3], ["apiregistration.orch.io", "apps", "events.orch.io"])
        for group in groups:
            shown = (await self.client.get(f"/apis/{group['name']}")).json
            self.assertEqual({key: shown[key] for key in group}, group)
            for version in group["versions"]:
                listed = (await self.client.get(f"/apis/{version['groupVersion']}")).json
                self.assertEqual(
                    (listed["kind"], listed["groupVersion"]), ("APIResourceList", version["groupVersion"])
                )

    async def test_resources(self) -> None:
        """/api/v1 lists resources and sub-resources with their verbs (reference DISC-4, DISC-5)."""
        resources = {each["name"]: each for each in (await self.client.get("/api/v1")).json["resources"]}
        pods = resources["pods"]
        self.assertEqual((pods["kind"], pods["namespaced"], pods["shortNames"]), ("Pod", True, ["po"]))
        self.assertEqual(pods["verbs"], sorted(pods["verbs"]))
        self.assertEqual(len(base64.b64decode(pods["storageVersionHash"])), 8)
        self.assertEqual(resources["pods/status"]["verbs"], ["get", "patch", "update"])
        eviction = resources["pods/eviction"]
        self.assertEqual((eviction["group"], eviction["version"], eviction["kind"]), ("policy", "v1", "Eviction"))

    async def test_newer_discovery_falls_back(self) -> None:
        """The aggregated form of later releases is unknown; the plain one is served (reference DISC-8)."""
        accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
        self.assertEqual((await self.client.get("/apis", accept)).json["kind"], "APIGroupList")

    async def test_formats(self) -> None:
        """Discovery comes in Protobuf and YAML too, and with a slash at the end (reference DISC-8, DISC-9)."""
        binary = await self.client.get("/apis", self.naming.protobuf_media_type)
        self.assertEqual(unwrap(binary.body)[:2], ("v1", "APIGroupList"))
        text = yaml.safe_load((await self.client.get("/api/v1/", "application/yaml")).body)
        self.assertEqual(text["groupVersion"], "v1")

    async def test_version(self) -> None:
        """/version names the release; it can only be read (reference DISC-6)."""
        shown: Any = (await self.client.get("/version")).json
        self.assertEqual((shown["major"], shown["minor"]), ("1", "24"))
        self.assertRegex(shown["gitVersion"], r"^v1\.24\.\d+$")
        self.assertEqual((await self.client.post("/version", {})).code, 405)

    async def test_index(self) -> None:
        """/ lists the paths, sorted (reference DISC-7)."""
        paths = (await self.client.get("/")).json["paths"]
        self.assertEqual(paths, sorted(paths))
        self.assertLess({"/api", "/apis", "/healthz", "/version", "/apis/apps/v1"}, set(paths))

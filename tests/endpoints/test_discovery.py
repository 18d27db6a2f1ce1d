"""Discovery, version and the index."""
# covers: orchtw.endpoints.paths

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import yaml
from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.endpoints.discovery import Discovery, documents
from orchtw.endpoints.paths import Paths
from orchtw.endpoints.version import Version
from orchtw.errors import MethodNotAllowed, NotAcceptable
from orchtw.naming.naming import Naming
from orchtw.registry.aggregation.services import ApiServices
from orchtw.registry.offload import Offload
from orchtw.registry.targets import Targets
from orchtw.request import Peer, Request, Response
from orchtw.responses.representation import Representations
from orchtw.responses.transforms import Transforms
from orchtw.rules.negotiation import Negotiator
from orchtw.rules.runtime_config import enabled
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import unwrap
from orchtw.storage.cache.watch_cache import Cacher
from orchtw.watch.turns import ReactorTurns
from tests.client.world import MemoryStore
from tests.registry.widgets import GROUP, versions

NAMING = Naming.orch()
CATALOGUE = Catalogue.load(NAMING)
CODECS = Codecs(CATALOGUE)


def served(*settings: tuple[str, str]) -> Mapping[str, Any]:
    """Every document of a server with this --runtime-config."""
    return documents(CATALOGUE.groups, enabled(CATALOGUE, settings), "127.0.0.1:6443")


def entry(document: dict[str, Any], name: str) -> dict[str, Any]:
    """One resource of an APIResourceList."""
    found: dict[str, Any] = next(each for each in document["resources"] if each["name"] == name)
    return found


class DocumentTests(SynchronousTestCase):
    def test_versions(self) -> None:
        """`/api` has no apiVersion and gives every client the server's address (reference DISC-1)."""
        self.assertEqual(
            served()["/api"],
            {
                "kind": "APIVersions",
                "versions": ["v1"],
                "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}],
            },
        )

    def test_group_order(self) -> None:
        """The aggregator's group comes first, then falling priority (reference DISC-2)."""
        names = [group["name"] for group in served()["/apis"]["groups"]]
        self.assertEqual(
            names[:7],
            [
                "apiregistration.orch.io",
                "apps",
                "events.orch.io",
                "authentication.orch.io",
                "authorization.orch.io",
                "autoscaling",
                "batch",
            ],
        )
        self.assertNotIn("", names)

    def test_group(self) -> None:
        """A group lists its versions by priority, and the first is preferred (reference DISC-3)."""
        versions = [{"groupVersion": f"autoscaling/{v}", "version": v} for v in ("v2", "v1", "v2beta1", "v2beta2")]
        expected = {"name": "autoscaling", "versions": versions, "preferredVersion": versions[0]}
        found = served()
        self.assertEqual(found["/apis/autoscaling"], {"kind": "APIGroup", "apiVersion": "v1", **expected})
        self.assertIn(expected, found["/apis"]["groups"])

    def test_resource(self) -> None:
        """An entry has its members in the reference order, empty ones left out (reference DISC-5)."""
        found = served()["/apis/apps/v1"]
        self.assertEqual(
            (found["kind"], found["apiVersion"], found["groupVersion"]), ("APIResourceList", "v1", "apps/v1")
        )
        self.assertEqual(
            json.dumps(entry(found, "deployments"), separators=(",", ":")),
            '{"name":"deployments","singularName":"","namespaced":true,"kind":"Deployment","verbs":["create","delete",'
            '"deletecollection","get","list","patch","update","watch"],"shortNames":["deploy"],"categories":["all"],'
            '"storageVersionHash":"8aSe+NMegvE="}',
        )

    def test_subresources(self) -> None:
        """Sub-resources are entries of their own; a foreign kind brings its group and version (reference DISC-5)."""
        core = served()["/api/v1"]
        self.assertEqual(
            entry(core, "pods/eviction"),
            {
                "name": "pods/eviction",
                "singularName": "",
                "namespaced": True,
                "group": "policy",
                "version": "v1",
                "kind": "Eviction",
                "verbs": ["create"],
            },
        )
        self.assertNotIn("group", entry(core, "pods/status"))
        self.assertEqual(entry(served()["/apis/apps/v1"], "deployments/scale")["group"], "autoscaling")

    def test_sorted(self) -> None:
        """Resources are sorted by name and verbs by letter, in every version (reference DISC-4, DISC-5)."""
        for document in served().values():
            resources = document.get("resources", [])
            self.assertEqual([each["name"] for each in resources], sorted(each["name"] for each in resources))
            for each in resources:
                self.assertEqual(each["verbs"], sorted(each["verbs"]))

    def test_every_resource(self) -> None:
        """Every resource that is on by default is in its version's list, with its subresources."""
        found = served()
        for resource in enabled(CATALOGUE, ()):
            path = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
            names = {each["name"] for each in found[path]["resources"]}
            self.assertLessEqual(
                {resource.plural, *(f"{resource.plural}/{s.name}" for s in resource.subresources)}, names
            )

    def test_disabled(self) -> None:
        """Groups disabled by --runtime-config are absent from discovery.

        Another version becomes the preferred one (reference DISC-12).
        """
        found = served(
            ("autoscaling/v2", "false"),
            ("batch/v1", "false"),
            ("batch/v1beta1", "false"),
            ("apps/v1/deployments", "false"),
        )
        self.assertEqual(found["/apis/autoscaling"]["preferredVersion"]["version"], "v1")
        self.assertFalse({"/apis/autoscaling/v2", "/apis/batch", "/apis/batch/v1"} & set(found))
        self.assertNotIn("batch", [group["name"] for group in found["/apis"]["groups"]])
        self.assertNotIn("deployments", [each["name"] for each in found["/apis/apps/v1"]["resources"]])

    def test_canonical(self) -> None:
        """Every document is what its own codec emits, so text and binary forms say the same."""
        for path, document in served().items():
            with_type = {"kind": document["kind"], "apiVersion": "v1", **document}
            normalised = CODECS.kind("v1", document["kind"]).normalise(with_type)
            self.assertEqual(json.dumps(normalised), json.dumps(with_type), path)


class ServedTests(SynchronousTestCase):
    def setUp(self) -> None:
        turns = ReactorTurns(lambda: 0.0, lambda work: None)
        representations = Representations(CODECS, Transforms(CODECS, NAMING, lambda: 0.0), turns, Offload(None))
        targets = Targets(CATALOGUE, CODECS, enabled(CATALOGUE, ()))
        services = ApiServices(targets, NAMING)
        discovery = Discovery(targets, services, "127.0.0.1:6443", Negotiator(NAMING), representations.document)
        self.targets = targets
        self.paths = Paths([Version(NAMING.git_version)], changing=[discovery])

    def ask(
        self, path: str, accept: str = "", method: str = "GET", query: str = "", agent: str = ""
    ) -> Deferred[Response]:
        """Send one request and return its response."""
        asked = Request(
            method=method,
            path=path,
            query=query,
            headers={"accept": accept, "user-agent": agent},
            peer=Peer(address="", port=0),
        )
        return Deferred.fromCoroutine(self.paths(asked))

    def body(self, path: str, **how: Any) -> bytes:
        """The body of a good answer."""
        response = self.successResultOf(self.ask(path, **how))
        self.assertEqual(response.code, 200)
        assert isinstance(response.body, bytes)
        return response.body

    def document(self, kind: str, body: bytes) -> dict[str, Any]:
        """A document out of its binary form."""
        api_version, found, raw = unwrap(body)[:3]
        self.assertEqual((api_version, found), ("v1", kind))
        decoded: dict[str, Any] = CODECS.kind("v1", kind).decode_protobuf(raw)
        return decoded

    def test_formats(self) -> None:
        """Each document is served alike in JSON, YAML and Protobuf (reference DISC-8)."""
        for path, expected in served().items():
            self.assertEqual(json.loads(self.body(path)), expected)
            self.assertEqual(yaml.safe_load(self.body(path, accept="application/yaml")), expected)
            decoded = self.document(expected["kind"], self.body(path, accept=NAMING.protobuf_media_type))
            self.assertEqual(decoded, {**expected, "apiVersion": "v1"})

    def test_content_types(self) -> None:
        """The answer names its format."""
        for accept in ("application/json", "application/yaml", NAMING.protobuf_media_type):
            self.assertEqual(self.successResultOf(self.ask("/apis", accept)).content_type, accept)

    def test_aggregated_falls_back(self) -> None:
        """A client that knows later releases gets the plain document (reference DISC-8)."""
        accept = (
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
            "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
        )
        self.assertEqual(json.loads(self.body("/apis", accept=accept))["kind"], "APIGroupList")

    def test_not_acceptable(self) -> None:
        """An unsupported format is a 406."""
        self.failureResultOf(self.ask("/apis", "text/html"), NotAcceptable)

    def test_pretty(self) -> None:
        """Query and user agent ask for indented JSON, which does not disturb others' answers (reference REQ-20)."""
        self.assertIn(b'\n  "kind"', self.body("/api", query="pretty=1"))
        self.assertIn(b'\n  "kind"', self.body("/api", agent="curl/8"))
        self.assertTrue(self.body("/api").startswith(b'{"kind":"APIVersions","versions"'))

    def test_made_once(self) -> None:
        """The same bytes answer every request of a format."""
        self.assertIs(self.body("/api/v1"), self.body("/api/v1/"))

    def test_changes(self) -> None:
        """Documents, their paths and the index follow the resources; what is removed is a bare 404."""
        clock = Clock()
        cacher = Cacher(MemoryStore(clock), clock, lambda flush: clock.callLater(0, flush))
        self.successResultOf(ensureDeferred(self.targets.open(cacher)))
        self.addCleanup(lambda: self.successResultOf(ensureDeferred(cacher.stop())))
        self.targets.listen(self.paths.forget)
        before, version = {path: self.body(path) for path in ("/", "/apis")}, f"/apis/{GROUP}/v1"
        self.successResultOf(ensureDeferred(self.targets.add(versions(CODECS.schemas))))
        self.assertEqual(json.loads(self.body("/apis"))["groups"][-1]["name"], GROUP)
        entries = {each["name"]: each for each in json.loads(self.body(f"{version}/"))["resources"]}
        self.assertEqual(entries["widgets"]["singularName"], "widget")
        self.assertLessEqual({version, f"/apis/{GROUP}"}, set(json.loads(self.body("/"))["paths"]))
        self.targets.remove(GROUP, "widgets")
        self.assertEqual({path: self.body(path) for path in before}, before)
        self.assertEqual(self.successResultOf(self.ask(version)).body, b"404 page not found\n")

    def test_trailing_slash(self) -> None:
        """A slash behind a discovery path or /version does not matter (reference DISC-9)."""
        for path in ("/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/version"):
            self.assertEqual(self.body(path), self.body(f"{path}/"))

    def test_unknown_group(self) -> None:
        """A group or version that is not served is a bare text 404 (reference ERR-18)."""
        for path in ("/api/v2", "/apis/nope", "/apis/apps/v9", "/apis/internal.apiserver.orch.io/v1alpha1"):
            response = self.successResultOf(self.ask(path))
            self.assertEqual((response.code, response.body), (404, b"404 page not found\n"))
            self.assertEqual(response.content_type, "text/plain; charset=utf-8")

    def test_index(self) -> None:
        """`/` lists all paths, sorted; an unknown path is a 404 with the same list (reference DISC-7)."""
        index = self.body("/")
        shown: Iterable[str] = json.loads(index)["paths"]
        self.assertEqual(list(shown), sorted([*served(), "/version"]))
        response = self.successResultOf(self.ask("/foo"))
        self.assertEqual((response.code, response.body, response.content_type), (404, index, "application/json"))

    def test_methods(self) -> None:
        """Discovery and version are for GET alone (reference DISC-9, REQ-14)."""
        for path in ("/api", "/apis/apps/v1", "/version"):
            for method in ("POST", "HEAD", "OPTIONS"):
                self.failureResultOf(self.ask(path, method=method), MethodNotAllowed)

    def test_version(self) -> None:
        """`/version` names release 1.24 in all of its fields (reference DISC-6)."""
        found = json.loads(self.body("/version"))
        self.assertEqual(
            list(found),
            [
                "major",
                "minor",
                "gitVersion",
                "gitCommit",
                "gitTreeState",
                "buildDate",
                "goVersion",
                "compiler",
                "platform",
            ],
        )
        self.assertEqual((found["major"], found["minor"]), ("1", "24"))
        self.assertRegex(found["gitVersion"], r"^v1\.24\.\d+$")
        self.assertRegex(found["platform"], r"^\w+/\w+$")

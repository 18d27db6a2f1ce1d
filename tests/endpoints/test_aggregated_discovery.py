"""Aggregated discovery: forms, tags, contents and the releases that have it."""
# covers: orchtw.endpoints.discovery

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.config.feature_gates import resolve
from orchtw.config.releases import release_of
from orchtw.endpoints.aggregated_discovery import aggregated_versions, group_discovery_list
from orchtw.naming.naming import Naming
from orchtw.outbound.services import ServiceReference
from orchtw.registry.aggregation.services import ApiService, ServiceBackend
from orchtw.rules.negotiation import Negotiator
from orchtw.schema.catalogue import added_group
from tests.emulated import since
from tests.verbs.served import ServedCase

G = "apidiscovery.orch.io"
V2 = f"application/json;g={G};v=v2;as=APIGroupDiscoveryList"
V2BETA1 = f"application/json;g={G};v=v2beta1;as=APIGroupDiscoveryList"
FOREIGN = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
REMOTE = ApiService(
    name="v1.metrics.example",
    group="metrics.example",
    version="v1",
    group_priority=100,
    version_priority=100,
    backend=ServiceBackend(service=ServiceReference(namespace="a", name="b", port=443)),
    available=True,
)
LISTED: list[dict[str, Any]] = [
    {"name": "nodes", "singularName": "node", "namespaced": False, "kind": "NodeMetrics", "verbs": ["get", "list"]},
    {"name": "nodes/scale", "kind": "Scale", "group": "autoscaling", "version": "v1", "verbs": ["get"]},
    {"name": "orphans/log", "kind": "Log", "verbs": ["get"]},
    {"name": 7},
]


def named(entries: list[Any], key: str, name: str) -> Any:
    """Return the entry of a list whose member `key` is `name`."""
    return next(each for each in entries if each[key] == name)


@since((1, 30))
class FormTests(ServedCase):
    def get(self, path: str, accept: str, **headers: str) -> tuple[int, Mapping[str, str], bytes]:
        given = {"accept": accept, **{key.replace("_", "-"): value for key, value in headers.items()}}
        answer = self.run_async(self.server.request("GET", path, headers=given))
        return answer.code, answer.headers, answer.body

    def test_content_type(self) -> None:
        """The Content-Type repeats the parameters, in every format (reference DISC-13)."""
        for path in ("/api", "/apis", "/apis/"):
            code, headers, body = self.get(path, f"{V2},{V2BETA1},application/json")
            self.assertEqual((code, headers["content-type"]), (200, V2))
            found = orjson.loads(body)
            self.assertEqual((found["kind"], found["apiVersion"]), ("APIGroupDiscoveryList", f"{G}/v2"))
            protobuf = V2.replace("application/json", "application/vnd.orch.protobuf")
            code, headers, body = self.get(path, protobuf)
            self.assertEqual((code, headers["content-type"], body[:4]), (200, protobuf, b"k8s\0"))

    def test_passed_over(self) -> None:
        """Another vocabulary's group, another kind and a version that is not served are passed over; alone they are a
        406 (reference DISC-8, DISC-13).
        """
        for accept in (FOREIGN, V2BETA1, V2.replace("Discovery", "Something"), f"{V2};profile=other"):
            code, headers, body = self.get("/apis", f"{accept},application/json")
            self.assertEqual((code, headers["content-type"]), (200, "application/json"), accept)
            self.assertEqual(orjson.loads(body)["kind"], "APIGroupList")
            self.assertEqual(self.get("/apis", accept)[0], 406)

    def test_own_view(self) -> None:
        """Profile nopeer gives the same document (reference DISC-13)."""
        self.assertEqual(self.get("/apis", f"{V2};profile=nopeer")[2], self.get("/apis", V2)[2])

    def test_below(self) -> None:
        """Documents of one group or version have no aggregated form (reference DISC-13)."""
        self.assertEqual(self.get("/apis/apps/v1", V2)[0], 406)

    def test_tag(self) -> None:
        """One tag stands for all formats, and a client that has it gets a 304 (reference DISC-14)."""
        _, headers, _ = self.get("/apis", V2)
        self.assertRegex(headers["etag"], r'^"[0-9A-F]{128}"$')
        self.assertEqual((headers["vary"], headers["cache-control"]), ("Accept", "public"))
        again = self.get("/apis", V2.replace("json", "vnd.orch.protobuf"))[1]["etag"]
        self.assertEqual(again, headers["etag"])
        for known in (again, f"W/{again}", f'"other", {again}', "*"):
            code, _, body = self.get("/apis", V2, if_none_match=known)
            self.assertEqual((code, body), (304, b""), known)
        self.assertEqual(self.get("/apis", V2, if_none_match='"other"')[0], 200)
        self.assertNotEqual(self.get("/api", V2)[1]["etag"], again)

    def test_contents(self) -> None:
        """A resource has its scope, kind, both names and sub-resources (reference DISC-15)."""
        core = orjson.loads(self.get("/api", V2)[2])
        (item,) = core["items"]
        self.assertEqual(item["metadata"]["name"], "")
        (version,) = item["versions"]
        self.assertEqual((version["version"], version["freshness"]), ("v1", "Current"))
        names = [each["resource"] for each in version["resources"]]
        self.assertEqual(names, sorted(names))
        pods = named(version["resources"], "resource", "pods")
        self.assertEqual(
            {key: value for key, value in pods.items() if key not in ("subresources", "verbs")},
            {
                "resource": "pods",
                "responseKind": {"group": "", "version": "v1", "kind": "Pod"},
                "scope": "Namespaced",
                "singularResource": "pod",
                "shortNames": ["po"],
                "categories": ["all"],
            },
        )
        self.assertEqual(
            named(pods["subresources"], "subresource", "eviction"),
            {
                "subresource": "eviction",
                "responseKind": {"group": "policy", "version": "v1", "kind": "Eviction"},
                "verbs": ["create"],
            },
        )
        groups = [each["metadata"]["name"] for each in orjson.loads(self.get("/apis", V2)[2])["items"]]
        self.assertEqual(groups[:2], ["apiregistration.orch.io", "apps"])
        self.assertNotIn("", groups)


class OffTests(ServedCase):
    more = {"emulated_version": "1.25"}

    def test_unknown(self) -> None:
        """An emulated release before 1.26 passes the entry over (reference DISC-8)."""
        answer = self.run_async(self.server.request("GET", "/apis", headers={"accept": f"{V2},application/json"}))
        self.assertEqual((answer.code, answer.headers["content-type"]), (200, "application/json"))
        self.assertNotIn("etag", answer.headers)


class VersionsTests(SynchronousTestCase):
    def test_releases(self) -> None:
        """The beta goes with 1.33, on request with 1.35; v2 comes with 1.30 (reference DISC-13)."""
        kept = (("AggregatedDiscoveryRemoveBetaType", "false"),)
        off = (("AggregatedDiscoveryEndpoint", "false"),)
        for release, settings, expected in (
            ("1.25", (), ()),
            ("1.26", (), ("v2beta1",)),
            ("1.30", (), ("v2", "v2beta1")),
            ("1.33", (), ("v2",)),
            ("1.34", kept, ("v2", "v2beta1")),
            ("1.35", kept, ("v2",)),
            ("1.36", off, ()),
        ):
            gates, problems = resolve(settings, "orch", release)
            self.assertEqual(problems, [])
            self.assertEqual(aggregated_versions(gates, release_of(release)), expected, release)

    def test_kubernetes(self) -> None:
        """Under the vocabulary kubernetes the group is Kubernetes' own (reference DISC-13)."""
        found = Negotiator(Naming.kubernetes()).accept(FOREIGN, transforms=False, discovery=("v2",))
        self.assertEqual((found.content_type, found.transform_version), (FOREIGN, "apidiscovery.k8s.io/v2"))


class RemoteTests(SynchronousTestCase):
    def version(self, service: ApiService, listed: list[dict[str, Any]] | None) -> Any:
        infos = [added_group("metrics.example", {"v1"})]
        (item,) = group_discovery_list(infos, (), {("metrics.example", "v1"): service}, lambda _: listed)
        return item["versions"][0]

    def test_listed(self) -> None:
        """Another server's version has the resources that it lists (reference DISC-16)."""
        kind = {"group": "metrics.example", "version": "v1"}
        scale = {
            "subresource": "scale",
            "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
            "verbs": ["get"],
        }
        found = self.version(REMOTE, LISTED)
        self.assertEqual(found["freshness"], "Current")
        self.assertEqual(
            found["resources"][0],
            {
                "resource": "nodes",
                "responseKind": {**kind, "kind": "NodeMetrics"},
                "scope": "Cluster",
                "singularResource": "node",
                "verbs": ["get", "list"],
                "subresources": [scale],
            },
        )
        orphan = found["resources"][1]
        self.assertEqual((orphan["resource"], orphan["verbs"]), ("orphans", []))
        self.assertEqual(orphan["subresources"][0]["responseKind"], {**kind, "kind": "Log"})

    def test_stale(self) -> None:
        """A version whose server is away, or was never read, is Stale (reference DISC-16)."""
        self.assertEqual(self.version(REMOTE, None), {"version": "v1", "freshness": "Stale"})
        away = self.version(attrs.evolve(REMOTE, available=False), LISTED)
        self.assertEqual((away["freshness"], away["resources"][0]["resource"]), ("Stale", "nodes"))

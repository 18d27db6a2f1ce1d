"""Addresses and ports of services as they are written one after the other."""
# covers: orchtw.registry.allocation.cluster_ips, orchtw.registry.allocation.families
# covers: orchtw.registry.allocation.node_ports

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from orchtw.storage.store import Op
from orchtw.wire.objects import Object
from tests.validation.examples import GONE
from tests.validation.paths import changed, value_at
from tests.validation.services import ENDPOINTS, SERVICE, SERVICES, SUBSETS, PickingCase


class AddressCase(PickingCase):
    """Makes services, and looks at what they have."""

    def service(self, name: str, **changes: Any) -> Object:
        """A new service; keys are paths below spec with double underscores for dots."""
        return self.done("POST", SERVICES, self.wanted(name, **changes))

    @staticmethod
    def wanted(name: str, **changes: Any) -> Object:
        """Return the body of the create."""
        paths = {f"spec.{key.replace('__', '.')}": value for key, value in changes.items()}
        return changed(SERVICE, {"metadata.name": name, **paths})

    def refused(self, code: int, text: str, service: Object) -> None:
        """A service that is not made."""
        answer = self.send("POST", SERVICES, service)
        self.assertEqual(answer.code, code, answer.body)
        self.assertIn(text, answer.json["message"])


class AddressTests(AddressCase):
    """Addresses and ports that Services take, keep and give back."""

    def test_second_address(self) -> None:
        """A second family brings an address, and gives it back when it goes (reference KIND-51)."""
        made = self.service("a")
        two = self.done("PUT", f"{SERVICES}/a", changed(made, {"spec.ipFamilyPolicy": "RequireDualStack"}))
        second = value_at(two, "spec.clusterIPs[1]")
        self.assertTrue(second.startswith("fd00::"))
        self.assertEqual(two["spec"]["ipFamilies"], ["IPv4", "IPv6"])
        self.refused(422, "provided IP is already allocated", self.wanted("b", clusterIP=second))
        one = self.done("PUT", f"{SERVICES}/a", changed(two, {"spec.ipFamilyPolicy": "SingleStack"}))
        self.assertEqual(one["spec"]["clusterIPs"], made["spec"]["clusterIPs"])
        self.assertEqual(self.service("b", clusterIP=second)["spec"]["clusterIP"], second)

    def test_second_address_that_is_asked_for(self) -> None:
        """A certain one can be added, or the second family by its name."""
        made = self.service("a")
        ips = [*made["spec"]["clusterIPs"], "fd00::77"]
        change = {"spec.ipFamilyPolicy": "PreferDualStack", "spec.clusterIPs": ips}
        self.assertEqual(self.done("PUT", f"{SERVICES}/a", changed(made, change))["spec"]["clusterIPs"], ips)

    def test_taken_port(self) -> None:
        """A port that somebody has is refused; one that is far off is never taken (reference KIND-51)."""
        self.service("a", type="NodePort", ports=[{"port": 80, "nodePort": 30200}])
        other = self.wanted("b", type="LoadBalancer", ports=[{"port": 80, "nodePort": 30200}])
        text = "spec.ports[0].nodePort: Invalid value: 30200: provided port is already allocated"
        self.refused(422, text, other)
        wrong = self.wanted("b", type="NodePort", ports=[{"port": 80, "nodePort": -1}])
        self.refused(422, "provided port is not in the valid range", wrong)

    def test_shared_port(self) -> None:
        """Ports of one number share a node port, whichever of them names it; others get their own (reference
        KIND-51).
        """
        ports = [
            {"name": "a", "port": 53},
            {"name": "b", "port": 53, "protocol": "UDP"},
            {"name": "c", "port": 54},
            {"name": "d", "port": 54, "protocol": "UDP", "nodePort": 30210},
        ]
        found = [port["nodePort"] for port in self.service("a", type="NodePort", ports=ports)["spec"]["ports"]]
        self.assertEqual((found[0], found[2:]), (found[1], [30210, 30210]))
        self.assertTrue(all(30000 <= each <= 32767 for each in found))

    def test_released_ports(self) -> None:
        """Numbers that a Service drops are free for others."""
        made = self.service("a", type="NodePort", ports=[{"port": 80, "nodePort": 30220}])
        self.done("PUT", f"{SERVICES}/a", changed(made, {"spec.ports[0].nodePort": 30221}))
        made = self.service("b", type="NodePort", ports=[{"port": 80, "nodePort": 30220}])
        self.done("PATCH", f"{SERVICES}/b", {"spec": {"type": "ClusterIP"}}, {"content-type": MERGE})
        self.service("c", type="NodePort", ports=[{"port": 80, "nodePort": 30220}])

    def test_health_check_port(self) -> None:
        """It is one of the node ports, given or asked for (reference KIND-51)."""
        local = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
        first = self.service("a", **local)["spec"]["healthCheckNodePort"]
        self.assertTrue(30000 <= first <= 32767)
        text = f"failed to allocate requested HealthCheck NodePort {first}: provided port is already allocated"
        self.refused(500, text, self.wanted("b", **local, healthCheckNodePort=first))
        self.code("DELETE", f"{SERVICES}/a")
        self.assertEqual(self.service("b", **local, healthCheckNodePort=first)["spec"]["healthCheckNodePort"], first)

    def test_delete(self) -> None:
        """A deleted Service's numbers are free, and its endpoints are gone (reference KIND-51)."""
        made = self.service("a", type="NodePort", **TWO_FAMILIES)
        self.done("POST", ENDPOINTS, {"metadata": {"name": "a"}, "subsets": SUBSETS})
        self.done("DELETE", f"{SERVICES}/a")
        self.clock.advance(0)
        self.assertEqual(self.code("GET", f"{ENDPOINTS}/a"), 404)
        spec = made["spec"]
        again = self.service("b", type="NodePort", clusterIP=spec["clusterIP"], clusterIPs=spec["clusterIPs"])
        self.assertEqual(again["spec"]["clusterIPs"], spec["clusterIPs"])

    def test_endpoints_that_are_held(self) -> None:
        """Endpoints with a finalizer outlive their service (reference KIND-51)."""
        self.service("a")
        self.done("POST", ENDPOINTS, {"metadata": {"name": "a", "finalizers": ["a.io/b"]}, "subsets": SUBSETS})
        self.done("DELETE", f"{SERVICES}/a")
        self.clock.advance(0)
        self.assertEqual(self.code("GET", f"{ENDPOINTS}/a"), 200)

    def test_dry_run(self) -> None:
        """A dry run shows values and takes none; what it would not get is refused."""
        wanted = self.wanted("a", type="NodePort", clusterIP="10.0.0.77", ports=[{"port": 80, "nodePort": 30230}])
        shown = self.done("POST", f"{SERVICES}?dryRun=All", wanted)
        self.assertEqual(shown["spec"]["clusterIPs"], ["10.0.0.77"])
        made = self.done("POST", SERVICES, changed(wanted, {"metadata.name": "b"}))
        answer = self.send("POST", f"{SERVICES}?dryRun=All", wanted)
        self.assertIn("provided IP is already allocated", answer.json["message"])
        self.done("DELETE", f"{SERVICES}/b?dryRun=All")
        change = changed(made, {"spec.type": "ClusterIP"})
        self.done("PUT", f"{SERVICES}/b?dryRun=All", change)
        self.refused(422, "already allocated", wanted)
        free = self.done("POST", f"{SERVICES}?dryRun=All", self.wanted("c", type="NodePort"))
        self.assertTrue(free["spec"]["clusterIP"].startswith("10.0."))

    def test_status_of_a_load_balancer(self) -> None:
        """It goes when the type is another; until then it stays."""
        made = self.service("a", type="LoadBalancer")
        status = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}
        self.done("PATCH", f"{SERVICES}/a/status", status, {"content-type": MERGE})
        live = self.done("PUT", f"{SERVICES}/a", changed(made, {"spec.ports[0].port": 81, **UNVERSIONED}))
        self.assertEqual(live["status"], status["status"])
        live = self.done("PUT", f"{SERVICES}/a", changed(live, {"spec.type": "ClusterIP"}))
        self.assertEqual(live["status"], {"loadBalancer": {}})

    def test_create_by_update(self) -> None:
        """A PUT of a name that is not there creates the service, or the endpoints."""
        answer = self.send("PUT", f"{SERVICES}/new", self.wanted("new"))
        self.assertEqual(answer.code, 201)
        self.assertTrue(answer.json["spec"]["clusterIP"])
        endpoints = {"metadata": {"name": "new"}, "subsets": SUBSETS}
        self.assertEqual(self.code("PUT", f"{ENDPOINTS}/new", endpoints), 201)

    def test_no_warnings(self) -> None:
        """Fields that a later release warns of are written without a word."""
        hints = {"metadata.annotations[service.orch.io/topology-aware-hints]": "auto"}
        wanted = self.wanted("a", type="LoadBalancer", externalIPs=["192.0.2.01"], loadBalancerIP="192.0.2.1")
        self.assertNotIn("warning", self.send("POST", SERVICES, changed(wanted, hints)).headers)

    def test_patch_and_apply(self) -> None:
        """Patches and applied configurations that say nothing of them leave values as they are (reference KIND-51).
        """
        made = self.service("a", type="NodePort")
        patch = {"metadata": {"labels": {"a": "b"}}, "spec": {"ports": [{"port": 80, "name": "x"}]}}
        live = self.done("PATCH", f"{SERVICES}/a", patch, {"content-type": "application/strategic-merge-patch+json"})
        self.assertEqual(live["spec"]["ports"][0]["nodePort"], made["spec"]["ports"][0]["nodePort"])
        applied = {**self.wanted("a", type="NodePort"), "spec": {"type": "NodePort", "selector": {"z": "y"}}}
        path = f"{SERVICES}/a?fieldManager=me&force=true"
        live = self.done("PATCH", path, applied, {"content-type": "application/apply-patch+yaml"})
        self.assertEqual(live["spec"]["clusterIPs"], made["spec"]["clusterIPs"])
        owned = [each["fieldsV1"].get("f:spec", {}) for each in live["metadata"]["managedFields"]]
        self.assertFalse(any("f:clusterIP" in each for each in owned))


TWO_FAMILIES = {"ipFamilyPolicy": "RequireDualStack"}
MERGE = "application/merge-patch+json"
UNVERSIONED = {"metadata.resourceVersion": GONE}


class SingleStackTests(AddressCase):
    """A server with one range."""

    more: ClassVar[Mapping[str, Any]] = {}

    def test_refused(self) -> None:
        """A Service that requires the other family is refused (reference KIND-51)."""
        two = self.wanted("a", **TWO_FAMILIES)
        text = 'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack'
        self.refused(422, text, two)
        text = 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'
        self.refused(422, text, self.wanted("a", ipFamilies=["IPv6"]))
        text = 'spec.clusterIPs[0]: Invalid value: []string{"fd00::1"}: IPv6 is not configured on this cluster'
        self.refused(422, text, self.wanted("a", clusterIP="fd00::1"))

    def test_preferred(self) -> None:
        """PreferDualStack gets the only family (reference KIND-51)."""
        spec = self.service("a", ipFamilyPolicy="PreferDualStack")["spec"]
        self.assertEqual((spec["ipFamilies"], len(spec["clusterIPs"])), (["IPv4"], 1))

    def test_headless(self) -> None:
        """A headless service without selector has both families all the same, unless it wants one (reference
        KIND-51).
        """
        spec = self.service("a", clusterIP="None", selector=GONE)["spec"]
        self.assertEqual((spec["ipFamilies"], spec["ipFamilyPolicy"]), (["IPv4", "IPv6"], "RequireDualStack"))
        spec = self.service("b", clusterIP="None", selector=GONE, ipFamilyPolicy="SingleStack")["spec"]
        self.assertEqual(spec["ipFamilies"], ["IPv4"])


class SmallRangeTests(AddressCase):
    """Ranges that are soon full."""

    more = {"service_cluster_ip_range": ("10.0.0.0/29",), "service_node_port_range": "30000-30001"}

    def test_addresses(self) -> None:
        """A write that comes too late is refused, and succeeds once a number is free (reference KIND-51)."""
        found = {self.service(f"s{number}")["spec"]["clusterIP"] for number in range(5)}
        self.assertEqual(found, {f"10.0.0.{number}" for number in range(2, 7)})
        self.refused(500, "Internal error occurred: failed to allocate a serviceIP: range is full", self.wanted("a"))
        gone = self.done("DELETE", f"{SERVICES}/s3")["spec"]["clusterIP"]
        self.assertEqual(self.service("a")["spec"]["clusterIP"], gone)

    def test_ports(self) -> None:
        """A service that does not get all of its ports gets none, and no address."""
        ports = [{"name": "a", "port": 1}, {"name": "b", "port": 2}]
        self.service("a", type="NodePort")
        for _ in range(7):
            wanted = self.wanted("b", type="NodePort", ports=ports)
            self.refused(500, "Internal error occurred: failed to allocate a nodePort: range is full", wanted)
        self.service("b", type="NodePort")


class OldServiceTests(AddressCase):
    """Services that were stored before anything was given to them."""

    def put(self, name: str, **changes: Any) -> None:
        stored = self.server.instance.resources.targets.stored_target("", "v1", "services").stored
        obj = stored.codec.normalise(changed(self.wanted(name, **changes), {"metadata.namespace": "default"}))
        stored.codec.set_defaults(obj)
        value = stored.prepare(obj).value
        self.store.commit(Op(f"{stored.prefix}default/{name}", value, 0))
        self.clock.advance(0)

    def repaired(self, name: str) -> Object:
        """Return the stored Service."""
        self.run_async(self.server.instance.resources.targets.repair_reservations())
        found: Object = self.done("GET", f"{SERVICES}/{name}")["spec"]
        return found

    def test_completed(self) -> None:
        """They get what they lack by what they have (reference CTRL-38)."""
        self.put("a", clusterIP="10.0.0.70")
        self.put("b", clusterIP="None")
        self.put("c", clusterIP="None", selector=GONE)
        self.put("d", type="NodePort")
        self.put("e", clusterIP="10.0.0.71", clusterIPs=["10.0.0.71", "fd00::71"])
        spec = self.repaired("a")
        self.assertEqual((spec["clusterIPs"], spec["ipFamilies"]), (["10.0.0.70"], ["IPv4"]))
        self.assertEqual(spec["ipFamilyPolicy"], "SingleStack")
        for name in "bc":
            spec = self.repaired(name)
            self.assertEqual((spec["ipFamilyPolicy"], spec["clusterIPs"]), ("PreferDualStack", ["None"]))
            self.assertEqual(spec["ipFamilies"], ["IPv4", "IPv6"])
        spec = self.repaired("d")
        self.assertTrue(spec["clusterIP"] and spec["ports"][0]["nodePort"])
        self.assertEqual(self.repaired("e")["ipFamilyPolicy"], "RequireDualStack")
        self.refused(422, "already allocated", self.wanted("f", clusterIP="10.0.0.70"))

"""Endpoints of Services (reference SIM-70)."""
# covers: orchtw.simulation.services.backends

from __future__ import annotations

from orchtw.simulation.services.backends import IPV4, Backend, Port
from orchtw.simulation.services.endpoints import MOST_ADDRESSES, EndpointsController, pack
from orchtw.wire.objects import Object
from tests.simulation.services.case import ServiceCase


class EndpointsTests(ServiceCase):
    """The Endpoints that belong to a Service."""

    made = (EndpointsController,)

    def subsets(self, name: str = "web") -> list[Object]:
        """The subsets of some Endpoints, without what only the pod knows."""
        found: list[Object] = self.get("endpoints", name, "v1").get("subsets") or []
        for subset in found:
            for key in ("addresses", "notReadyAddresses"):
                if key in subset:
                    subset[key] = [each["ip"] for each in subset[key]]
        return found

    def test_follows(self) -> None:
        """Ready pods are addresses, others are not ready; those that have ended, or have no address, are left out."""
        self.service()
        self.assertEqual(self.subsets(), [])
        self.backend("one", "10.1.0.1")
        self.backend("two", "10.1.0.2", ready=False)
        self.create("pods", {"metadata": {"name": "none", "labels": {"app": "web"}}, "spec": {
            "containers": [{"name": "c", "image": "i"}]}}, "v1")  # fmt: skip
        ports = [{"port": 8080, "protocol": "TCP"}]
        self.assertEqual(
            self.subsets(), [{"addresses": ["10.1.0.1"], "notReadyAddresses": ["10.1.0.2"], "ports": ports}]
        )
        self.mark("two", "Running", ready=True)
        self.mark("one", "Succeeded")
        self.assertEqual(self.subsets(), [{"addresses": ["10.1.0.2"], "ports": ports}])
        self.delete("pods", "two", "v1")
        self.assertEqual(self.subsets(), [])

    def test_addresses(self) -> None:
        """An address names its pod and node, and the pod's host name under a headless Service."""
        self.service(clusterIP="None", ports=[])
        self.backend("one", "10.1.0.1", hostname="db-0", subdomain="web")
        endpoints = self.get("endpoints", "web", "v1")
        (subset,) = endpoints["subsets"]
        (address,) = subset["addresses"]
        self.assertEqual((address["hostname"], address["nodeName"]), ("db-0", "node-0"))
        self.assertEqual(address["targetRef"]["name"], "one")
        self.assertNotIn("ports", subset)
        self.assertEqual(endpoints["metadata"]["labels"], {"team": "x", "service.orch.io/headless": ""})

    def test_named_ports(self) -> None:
        """A port by name is that of each pod; pods without it are left out."""
        missing = {"name": "b", "port": 81, "targetPort": "no"}
        self.service(ports=[{"name": "a", "port": 80, "targetPort": "http"}, missing])
        self.backend("one", "10.1.0.1")
        self.assertEqual(self.subsets()[0]["ports"], [{"name": "a", "port": 8081, "protocol": "TCP"}])

    def test_headless_missing_port(self) -> None:
        """A headless Service leaves out pods that lack the port that it names."""
        self.service(clusterIP="None", ports=[{"name": "a", "port": 80, "targetPort": "no"}])
        self.backend("one", "10.1.0.1")
        self.assertEqual(self.subsets(), [])

    def test_restored(self) -> None:
        """Endpoints that somebody deletes come back."""
        self.service()
        self.backend("one", "10.1.0.1")
        self.delete("endpoints", "web", "v1")
        self.assertEqual(self.subsets()[0]["addresses"], ["10.1.0.1"])

    def test_early(self) -> None:
        """A Service may publish addresses before they are ready."""
        self.service(publishNotReadyAddresses=True)
        self.backend("one", "10.1.0.1", ready=False)
        self.assertEqual(self.subsets()[0]["addresses"], ["10.1.0.1"])

    def test_others(self) -> None:
        """Endpoints of Services without a selector are left alone; those of a Service that goes are deleted."""
        self.service("own", selector=None)
        subsets = [{"addresses": [{"ip": "10.9.9.9"}]}]
        self.create("endpoints", {"metadata": {"name": "own"}, "subsets": subsets}, "v1")
        self.service()
        self.assertEqual(self.subsets("own"), [{"addresses": ["10.9.9.9"]}])
        self.delete("services", "web", "v1")
        self.assertEqual([each["metadata"]["name"] for each in self.all("endpoints", "v1")], ["own"])

    def test_labels(self) -> None:
        """The Service's labels are copied when they change, and annotations of others stay."""
        self.service()
        self.merge("endpoints", "web", {"metadata": {"annotations": {"x": "1"}}}, "v1")
        self.merge("services", "web", {"metadata": {"labels": {"team": "y"}}}, "v1")
        meta = self.get("endpoints", "web", "v1")["metadata"]
        self.assertEqual((meta["labels"], meta["annotations"]), ({"team": "y"}, {"x": "1"}))

    def test_capacity(self) -> None:
        """Of more than a thousand addresses the ready ones are kept, and an annotation says that some are missing."""
        def backend(number: int) -> Backend:
            pod = {"metadata": {"namespace": "a", "name": str(number), "uid": str(number)}, "spec": {}}
            return Backend(
                addresses={IPV4: f"10.1.{number // 250}.{number % 250}"}, ports=(Port("", 80, "TCP"),), pod=pod,
                ready=number >= 10, serving=True, terminating=False, hostname="",
            )

        ((subset,), cut) = pack(map(backend, range(MOST_ADDRESSES + 5)), IPV4, portless=False)
        self.assertTrue(cut)
        self.assertEqual((len(subset["addresses"]), len(subset["notReadyAddresses"])), (MOST_ADDRESSES - 5, 5))

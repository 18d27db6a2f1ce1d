"""EndpointSlices of Services, and those that mirror Endpoints (reference SIM-71, SIM-72)."""

# covers: orchtw.simulation.services.endpoint_slice_mirroring

from __future__ import annotations

from orchtw.simulation.services.endpoint_slice_mirroring import MirroringController
from orchtw.simulation.services.endpoint_slices import EndpointSliceController
from orchtw.wire.objects import Object
from tests.simulation.services.case import ServiceCase

DISCOVERY = "discovery.orch.io/v1"


class EndpointSliceTests(ServiceCase):
    """The slices of a Service, and of Endpoints that nobody else mirrors."""

    made = (EndpointSliceController, MirroringController)

    def slices(self) -> list[Object]:
        """All slices of the namespace."""
        return self.all("endpointslices", DISCOVERY)

    def test_follows(self) -> None:
        """A slice names its Service and manager, and has each pod's conditions, node and zone."""
        labels = {"topology.orch.io/zone": "zone-a"}
        self.create("nodes", {"metadata": {"name": "node-0", "labels": labels}}, "v1")
        self.service()
        (placeholder,) = self.slices()
        self.assertEqual((placeholder["endpoints"], placeholder["ports"]), (None, None))
        self.backend("one", "10.1.0.1")
        self.backend("two", "10.1.0.2", ready=False)
        (found,) = self.slices()
        self.assertEqual(found["metadata"]["uid"], placeholder["metadata"]["uid"])
        self.assertEqual(found["metadata"]["labels"], {
            "team": "x", "orch.io/service-name": "web",
            "endpointslice.orch.io/managed-by": "endpointslice-controller.orch.io",
        })  # fmt: skip
        self.assertEqual(found["metadata"]["ownerReferences"][0]["kind"], "Service")
        self.assertEqual(found["ports"], [{"name": "", "port": 8080, "protocol": "TCP"}])
        one, two = sorted(found["endpoints"], key=lambda each: str(each["addresses"]))
        self.assertEqual((one["nodeName"], one["zone"], one["targetRef"]["name"]), ("node-0", "zone-a", "one"))
        self.assertEqual(one["conditions"], {"ready": True, "serving": True, "terminating": False})
        self.assertEqual(two["conditions"], {"ready": False, "serving": False, "terminating": False})
        self.mark("two", "Running", ready=True)
        (again,) = self.slices()
        self.assertEqual(again["metadata"]["name"], found["metadata"]["name"])
        self.assertTrue(all(each["conditions"]["ready"] for each in again["endpoints"]))

    def test_many(self) -> None:
        """A slice has at most a hundred endpoints."""
        for number in range(101):
            self.backend(f"p{number:03}", f"10.1.1.{number}")
        self.service()
        self.assertEqual(sorted(len(each["endpoints"]) for each in self.slices()), [1, 100])

    def test_restored(self) -> None:
        """A slice that somebody deletes or changes comes back; slices of others are left alone."""
        self.service()
        self.backend("one", "10.1.0.1")
        (found,) = self.slices()
        self.delete("endpointslices", found["metadata"]["name"], DISCOVERY)
        (again,) = self.slices()
        self.merge("endpointslices", again["metadata"]["name"], {"endpoints": []}, DISCOVERY)
        (restored,) = self.slices()
        self.assertEqual(restored["endpoints"][0]["addresses"], ["10.1.0.1"])

    def test_selector_removed(self) -> None:
        """Slices of a Service whose selector is removed stay as they are."""
        self.service()
        self.backend("one", "10.1.0.1")
        before = self.slices()
        self.merge("services", "web", {"spec": {"selector": None}}, "v1")
        self.delete("pods", "one", "v1")
        self.assertEqual(self.slices(), before)

    def test_missing_port(self) -> None:
        """A pod without the port that a Service names is an endpoint without ports."""
        self.service(ports=[{"name": "a", "port": 80, "targetPort": "no"}])
        self.backend("one", "10.1.0.1")
        (found,) = self.slices()
        self.assertEqual((found["ports"], found["endpoints"][0]["addresses"]), (None, ["10.1.0.1"]))

    def test_mirror(self) -> None:
        """Endpoints of a Service without a selector are mirrored, unless a label says not to."""
        self.service(selector=None)
        subsets = [{"addresses": [{"ip": "10.9.9.9"}], "ports": [{"port": 9}]}]
        self.create("endpoints", {"metadata": {"name": "web", "labels": {"a": "b"}}, "subsets": subsets}, "v1")
        (found,) = self.slices()
        self.assertEqual(found["endpoints"], [{"addresses": ["10.9.9.9"], "conditions": {"ready": True}}])
        self.assertEqual(found["metadata"]["labels"]["a"], "b")
        manager = found["metadata"]["labels"]["endpointslice.orch.io/managed-by"]
        self.assertEqual(manager, "endpointslicemirroring-controller.orch.io")
        self.merge("endpoints", "web", {"metadata": {"labels": {"endpointslice.orch.io/skip-mirror": "true"}}}, "v1")
        self.assertEqual(self.slices(), [])

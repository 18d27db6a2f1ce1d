"""Addresses of load balancers (reference SIM-73)."""

from __future__ import annotations

from orchtw.simulation.services.load_balancers import LoadBalancerController
from orchtw.wire.objects import Object
from tests.simulation.services.case import ServiceCase


class LoadBalancerTests(ServiceCase):
    """Services of the type LoadBalancer."""

    made = (LoadBalancerController,)

    def balancer(self, name: str = "web", **spec: object) -> Object:
        """Create a load balancer and return it as it is then."""
        self.service(name, type="LoadBalancer", clusterIP=f"10.0.0.{len(self.all('services', 'v1')) + 9}", **spec)
        return self.get("services", name, "v1")

    def address(self, service: Object) -> str:
        """The only address of a load balancer; empty if it has none."""
        ingress = service["status"].get("loadBalancer", {}).get("ingress") or [{}]
        return str(ingress[0].get("ip", ""))

    def test_address(self) -> None:
        """Each gets an address of its own, or the one it asks for, and a finalizer that holds it."""
        one, two = self.balancer("one"), self.balancer("two")
        self.assertEqual((self.address(one), self.address(two)), ("198.18.0.1", "198.18.0.2"))
        self.assertEqual(one["metadata"]["finalizers"], ["service.orch.io/load-balancer-cleanup"])
        self.assertEqual(self.address(self.balancer("asked", loadBalancerIP="198.18.9.9")), "198.18.9.9")
        reasons = [reason for reason, _ in self.events("one")]
        self.assertEqual(reasons, ["EnsuringLoadBalancer", "EnsuredLoadBalancer"])

    def test_released(self) -> None:
        """The address is taken from a Service that changes its type, and the finalizer lets a deleted one go."""
        self.balancer("one")
        self.merge("services", "one", {"spec": {"type": "ClusterIP"}}, "v1")
        service = self.get("services", "one", "v1")
        self.assertEqual((self.address(service), service["metadata"].get("finalizers")), ("", None))
        self.balancer("two")
        self.delete("services", "two", "v1")
        self.assertEqual([each["metadata"]["name"] for each in self.all("services", "v1")], ["one"])

    def test_of_others(self) -> None:
        """A Service with a class of load balancers is left to its controller."""
        self.assertEqual(self.address(self.balancer("one", loadBalancerClass="example.com/other")), "")

"""Fields that the types of Services need (reference KIND-27)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.services import (
    HEADLESS,
    allocates_node_ports,
    cluster_ip_causes,
    family_of,
    is_headless,
    needs_cluster_ip,
    needs_health_check_port,
    needs_node_ports,
    node_ports,
    same,
)


class ServiceTests(SynchronousTestCase):
    """Specs of canonical Services."""

    def test_types(self) -> None:
        """All types but ExternalName have cluster IPs; NodePort and LoadBalancer have node ports."""
        found = [
            (needs_cluster_ip({"type": each}), needs_node_ports({"type": each}))
            for each in ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
        ]
        self.assertEqual(found, [(True, False), (True, True), (True, True), (False, False)])

    def test_load_balancers(self) -> None:
        """A load balancer can do without node ports, and needs a health check port if its traffic stays local."""
        balanced = {"type": "LoadBalancer"}
        self.assertTrue(allocates_node_ports(balanced))
        self.assertFalse(allocates_node_ports({**balanced, "allocateLoadBalancerNodePorts": False}))
        self.assertTrue(needs_health_check_port({**balanced, "externalTrafficPolicy": "Local"}))
        self.assertFalse(needs_health_check_port({"type": "NodePort", "externalTrafficPolicy": "Local"}))

    def test_addresses(self) -> None:
        """A headless Service has `None` in place of an address; others have one of each family at most."""
        self.assertTrue(is_headless({"clusterIPs": [HEADLESS]}))
        self.assertEqual([family_of(each) for each in ("10.0.0.1", "fd00::1", "x")], ["IPv4", "IPv6", ""])
        spec = {"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "10.0.0.2"]}
        self.assertIn("may specify no more than one IP", str(cluster_ip_causes(spec)[0]))
        self.assertEqual(cluster_ip_causes({"type": "ExternalName", "clusterIPs": ["x"]}), [])

    def test_fields(self) -> None:
        """Node ports are those that are named; absent and empty fields are the same."""
        self.assertEqual(list(node_ports({"ports": [{"nodePort": 30000}, {"port": 80}]})), [30000])
        self.assertTrue(same({"externalIPs": []}, {}, "externalIPs"))

"""Where Services are reached (reference HOOK-26)."""

from __future__ import annotations

from ipaddress import ip_network
from random import Random
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound.services import Resolver, ServicePlace, ServiceReference, Unresolved
from tests.outbound.doubles import Cluster

OWN = ServiceReference(namespace="default", name="orch")


class ResolverTests(SynchronousTestCase):
    """The decision, by the objects."""

    def setUp(self) -> None:
        self.cluster = Cluster()
        self.resolver = Resolver(self.cluster, OWN, Random(1))

    def place(self, name: str = "s", *, namespace: str = "n", port: int = 443, **how: Any) -> ServicePlace:
        wanted = ServiceReference(namespace=namespace, name=name, port=port)
        try:
            self.resolver.place(wanted, **how).send(None)
        except StopIteration as end:
            found: ServicePlace = end.value
            return found
        raise AssertionError("there is something to wait for")

    def trouble(self, **how: Any) -> str:
        with self.assertRaises(Unresolved) as raised:
            self.place(**how)
        return str(raised.exception)

    def test_endpoints_first(self) -> None:
        """A ready endpoint comes before the cluster address, at the port that has the name."""
        self.cluster.add("n", "s", endpoints={"ip": "10.0.0.1", "port": 8443})
        self.assertEqual(self.place(), ServicePlace(host="10.0.0.1", port=8443))
        subset = {
            "addresses": [{"ip": f"10.0.0.{at}"} for at in range(8)],
            "notReadyAddresses": [{"ip": "10.0.9.9"}],
            "ports": [{"name": "other", "port": 1}, {"name": "web", "port": 2}],
        }
        self.cluster.endpoints_of["n", "s"] = {"subsets": [{"ports": subset["ports"]}, subset]}
        found = {self.place() for _ in range(200)}
        self.assertEqual(found, {ServicePlace(host=f"10.0.0.{at}", port=2) for at in range(8)})

    def test_cluster_address(self) -> None:
        """Without Endpoints the cluster address is dialled, at the Service's port."""
        self.cluster.add("n", "s", port=8443)
        self.assertEqual(self.place(port=8443), ServicePlace(host="10.96.0.9", port=8443))
        text = self.trouble(port=8443, endpoints_only=True)
        self.assertEqual(text, 'endpoints "s" not found')

    def test_external_name(self) -> None:
        """A name outside, at the port that was asked for; only endpoints have none."""
        self.cluster.add("n", "s", type="ExternalName", externalName="there.example")
        self.assertEqual(self.place(port=8443), ServicePlace(host="there.example", port=8443))
        self.assertEqual(self.trouble(endpoints_only=True), 'unsupported service type "ExternalName"')

    def test_own(self) -> None:
        """Only the server's own Service may lead to this machine."""
        for namespace, name in (("default", "orch"), ("n", "orch")):
            self.cluster.add(namespace, name, endpoints={"ip": "127.0.0.1", "port": 6443})
        self.assertFalse(self.place("orch", namespace="default").public)
        self.assertTrue(self.place("orch").public)

    def test_nowhere(self) -> None:
        """A Service that cannot be routed to is reported with the reason."""
        self.assertEqual(self.trouble(), 'service "s" not found')
        self.cluster.add("n", "s")
        self.assertEqual(self.trouble(port=80), 'no service port 80 found for service "s"')
        self.cluster.add("n", "s", clusterIP="None")
        self.assertEqual(self.trouble(), 'cannot route to service with ClusterIP "None"')
        for endpoints in ({}, {"subsets": [{"notReadyAddresses": [{"ip": "10.0.0.1"}], "ports": [{"name": "web"}]}]}):
            self.cluster.endpoints_of["n", "s"] = endpoints
            self.assertEqual(self.trouble(), 'no endpoints available for service "s"')

    def test_mapped(self) -> None:
        """The administrator's word counts before the objects, and without them; for that port alone."""
        given = ServicePlace(host="127.0.0.1", port=9443, public=False)
        wanted = ServiceReference(namespace="n", name="s", port=443)
        self.resolver = Resolver(self.cluster, OWN, Random(1), mapped={wanted: given}.get)
        self.assertEqual(self.place(), given)
        self.assertEqual(self.trouble(port=80), 'service "s" not found')
        self.cluster.add("n", "s", endpoints={"ip": "10.0.0.1", "port": 8443})
        self.assertEqual(self.place(), given)
        self.assertEqual(self.place(endpoints_only=True), given)

    def test_own_networks(self) -> None:
        """A cluster address within the administrator's range is dialled whatever it is; endpoints are not."""
        self.resolver = Resolver(self.cluster, OWN, Random(1), networks=(ip_network("127.0.0.0/24"),))
        for address, public in (("127.0.0.9", False), ("127.0.1.9", True), ("10.96.0.9", True)):
            self.cluster.add("n", "s", clusterIP=address)
            self.assertEqual(self.place(), ServicePlace(host=address, port=443, public=public))
        self.cluster.add("n", "s", endpoints={"ip": "127.0.0.9", "port": 8443})
        self.assertTrue(self.place().public)

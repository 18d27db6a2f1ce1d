"""Addresses of simulated pods and their hosts."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.pods.addresses import PodAddresses, host_address

NODE: dict[str, Any] = {"metadata": {"name": "n"}, "spec": {"podCIDR": "10.1.0.0/29"}}


class PodAddressesTests(SynchronousTestCase):
    def test_range(self) -> None:
        """Pods get different addresses of their node's range, and keep them."""
        addresses = PodAddresses()
        found = [addresses.of(f"a/{number}", NODE, ()) for number in range(6)]
        self.assertEqual(found, [f"10.1.0.{number}" for number in range(1, 7)])
        self.assertEqual(addresses.of("a/0", NODE, ()), "10.1.0.1")

    def test_full(self) -> None:
        """Pods beyond the range, and those of a node without one, get addresses of the spare range."""
        addresses = PodAddresses()
        for number in range(6):
            addresses.of(f"a/{number}", NODE, ())
        self.assertEqual(addresses.of("a/x", NODE, ()), "100.64.0.1")
        bare = {"metadata": {"name": "m"}, "spec": {}}
        self.assertEqual(addresses.of("a/y", bare, ()), "100.64.0.2")

    def test_freed(self) -> None:
        """A freed address is given again, once the others have been."""
        addresses = PodAddresses()
        for number in range(6):
            addresses.of(f"a/{number}", NODE, ())
        addresses.free("a/2")
        addresses.free("a/2")
        self.assertEqual(addresses.of("a/x", NODE, ()), "10.1.0.3")

    def test_new_range(self) -> None:
        """A node that is created anew, with another range, gives addresses of that."""
        addresses = PodAddresses()
        self.assertEqual(addresses.of("a/0", NODE, ()), "10.1.0.1")
        addresses.forget_node(NODE["metadata"]["name"])
        other = {**NODE, "spec": {"podCIDR": "10.9.0.0/24"}}
        self.assertEqual(addresses.of("a/1", other, ()), "10.9.0.1")

    def test_known(self) -> None:
        """Addresses that pods have are not given again."""
        addresses = PodAddresses()
        self.assertEqual(addresses.of("a/1", NODE, [("a/0", "10.1.0.1"), ("a/9", "192.0.2.1")]), "10.1.0.2")
        addresses.keep("a/z", "100.64.0.1")
        addresses.keep("a/bad", "none")
        self.assertEqual(addresses.of("a/y", None, ()), "100.64.0.2")
        addresses.free("a/z")
        addresses.keep("a/z", "100.64.0.1")


class HostAddressTests(SynchronousTestCase):
    def test_internal(self) -> None:
        """A host's address is its node's internal one."""
        listed = [{"type": "Hostname", "address": "n"}, {"type": "InternalIP", "address": "10.128.0.1"}]
        self.assertEqual(host_address({"status": {"addresses": listed}}), "10.128.0.1")
        self.assertEqual(host_address(None), "")

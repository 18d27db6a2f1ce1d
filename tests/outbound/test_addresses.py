"""Addresses that may be dialled."""

from __future__ import annotations

from ipaddress import ip_network

from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound.addresses import is_address, is_public_unicast, is_within


class AddressTests(SynchronousTestCase):
    """Addresses of pods and nodes, and of nothing else (reference PROXY-13)."""

    def test_allowed(self) -> None:
        """Private addresses are what pods have."""
        for address in ("10.0.0.1", "192.168.1.1", "203.0.113.7", "fd00::1", "2001:db8::1", "::ffff:10.0.0.1"):
            self.assertTrue(is_public_unicast(address), address)

    def test_refused(self) -> None:
        """This machine, this link, many machines, in every spelling; and what is not an address."""
        for address in (
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "::ffff:127.0.0.1",
            "0.0.0.0",
            "::",
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "fe80::1",
            "fe80::1%eth0",
            "fd00::1%eth0",
            "224.0.0.1",
            "ff02::1",
            "255.255.255.255",
            "010.0.0.1",
            "2130706433",
            "localhost",
            "",
        ):
            self.assertFalse(is_public_unicast(address), address)

    def test_names(self) -> None:
        """Names are resolved, addresses are not."""
        self.assertTrue(is_address("10.0.0.1"))
        self.assertTrue(is_address("::1"))
        self.assertFalse(is_address("node-1"))

    def test_within(self) -> None:
        """An address lies in a network of its own family, or in none."""
        networks = ip_network("127.0.0.0/24"), ip_network("fe80::/120")
        for address, found in (("127.0.0.9", True), ("fe80::9", True), ("127.0.1.1", False), ("::1", False)):
            self.assertEqual(is_within(address, networks), found, address)
        self.assertFalse(is_within("127.0.0.9", ()))

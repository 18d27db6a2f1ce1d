"""IP addresses and CIDR ranges (reference KIND-34)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.values.addresses import endpoint_ip, ip, parse_cidr, parse_ip, socket_address, within


class AddressTests(SynchronousTestCase):
    def test_addresses(self) -> None:
        """Leading zeros are fine and decimal, and what stands for an IPv4 address is that address."""
        known = {
            "10.9.8.7": "10.9.8.7",
            "010.009.08.0007": "10.9.8.7",
            "::ffff:10.9.8.07": "10.9.8.7",
            "2001:0DB8::": "2001:db8::",
            "1:2:3:4:5:6:7::": "1:2:3:4:5:6:7:0",
            "000001::00002": "1::2",
            "::": "::",
            "0.0.0.0": "0.0.0.0",
        }
        for text, shown in known.items():
            self.assertEqual(str(parse_ip(text)), shown, text)
            self.assertEqual(ip(text), (), text)

    def test_no_addresses(self) -> None:
        """Zones, spaces, other digits, wrong counts and endless zeros do not parse as addresses."""
        for text in ("", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.4 ", "fe80::1%eth0", "1::2:3:4:5:6:7:8", ":::",
                     "\u0661.2.3.4", "1.2.3.0x4", "12345::", "0" * 5000 + ".0.0.1", "a"):
            self.assertIsNone(parse_ip(text), text)
            self.assertEqual(len(ip(text)), 1, text)

    def test_special(self) -> None:
        """Addresses that mean no host, or one that only its neighbours reach, are those of no endpoint."""
        special = {
            "unspecified (0.0.0.0": ("0.0.0.0", "::", "::ffff:0.0.0.0"),
            "in the loopback range (127.0.0.0/8": ("127.0.0.1", "127.255.255.255", "::1"),
            "in the link-local range (169.254.0.0/16": ("169.254.1.1", "fe80::1", "febf::1"),
            "in the link-local multicast range (224.0.0.0/24": ("224.0.0.255", "ff02::1", "ff12::1"),
        }
        for why, texts in special.items():
            for text in texts:
                (found,) = endpoint_ip(text)
                self.assertTrue(found.startswith(f"may not be {why}"), (text, found))
        for text in ("10.9.8.7", "224.0.1.0", "255.255.255.255", "2001:db8::1", "fec0::1", "ff05::1", "fc02::1"):
            self.assertEqual(endpoint_ip(text), (), text)

    def test_sockets(self) -> None:
        """Both parts are checked; an IPv6 address stands in brackets."""
        port, form = "must be between 1 and 65535, inclusive", "must be a valid socket address format"
        for text, starts in (
            ("[::]:10254", ()),
            ("0.0.0.0:+080", ()),
            ("a:0", (port, "must be a valid IP")),
            ("10.9.8.7:" + "9" * 5000, (port,)),
            ("10.9.8.7:\u0661", (port,)),
            ("::1:80", (form,)),
            ("[::1]80", (form,)),
            ("[[::1]]:80", (form,)),
            ("\n", (form,)),
        ):
            found = socket_address(text)
            self.assertEqual([each[: len(start)] for each, start in zip(found, starts, strict=True)], [*starts])

    def test_ranges(self) -> None:
        """A range may be named by any of its addresses."""
        known = {
            "10.9.8.7/8": "10.0.0.0/8",
            "10.9.8.7/008": "10.0.0.0/8",
            "2001:db8::1/64": "2001:db8::/64",
            "::ffff:10.9.8.7/120": "10.9.8.0/24",
            "::ffff:10.9.8.7/80": "::/80",
            "::/0": "::/0",
        }
        for text, shown in known.items():
            self.assertEqual(str(parse_cidr(text)), shown, text)

    def test_no_ranges(self) -> None:
        """The length is a decimal number that fits the family."""
        for text in ("", "10.0.0.0", "10.0.0.0/", "/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+1", "::/129",
                     "10.0.0.0/8/8", "10.0.0.0/\u0661", "10.0.0.0/" + "9" * 5000):
            self.assertIsNone(parse_cidr(text), text)

    def test_within(self) -> None:
        """Families do not contain each other."""
        ten, all_six = parse_cidr("10.0.0.0/8"), parse_cidr("::/0")
        inner = parse_cidr("10.9.8.0/24")
        assert ten and all_six and inner
        self.assertTrue(within(inner, ten))
        self.assertFalse(within(ten, inner))
        self.assertFalse(within(inner, all_six))

"""Addresses of Services in flags and in their file (reference HOOK-36)."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.flags import parse
from orchtw.config.service_map import FILE_BYTES, ServiceMapping, parse_mapping, read_mappings
from orchtw.errors import ConfigError


class MappingTests(SynchronousTestCase):
    """Text of a single mapping."""

    def test_forms(self) -> None:
        """A name, an address of either family, and a port on both sides; it reads as it was written."""
        for text, host, port in (
            ("cert-manager/webhook:443=127.0.0.1:10250", "127.0.0.1", 10250),
            ("a/b:65535=[::1]:1", "::1", 1),
            ("a/b:1=localhost:9443", "localhost", 9443),
        ):
            found = parse_mapping(text)
            self.assertEqual((found.to_host, found.to_port, str(found)), (host, port, text))
        self.assertEqual(parse_mapping(" a/b:443 = h:1 "), ServiceMapping("a", "b", 443, "h", 1))

    def test_malformed(self) -> None:
        """Anything else is refused with a reason."""
        form = "must be namespace/name:port=host:port"
        for text, why in (
            ("", form),
            ("webhook:443=127.0.0.1:1", form),
            ("a/b=127.0.0.1:1", form),
            ("a/b:443", form),
            ("a/b:https=127.0.0.1:1", form),
            ("a/b:443=127.0.0.1", f"{form}, and 127.0.0.1 has no port"),
            ("a/b:443=::1:80", f"{form}, and ::1:80 has no port"),
            ("a/b:0=127.0.0.1:1", "0 is not a port"),
            ("a/b:70000=127.0.0.1:1", "70000 is not a port"),
            ("a/b:443=127.0.0.1:99999", "'99999' is not a port"),
            ("a/b:443=-:1", '"-:1" is neither a DNS name nor an IP address, with or without a port'),
        ):
            self.assertEqual(str(self.assertRaises(ValueError, parse_mapping, text)), why, text)
        self.assertIn('"A": a lowercase', str(self.assertRaises(ValueError, parse_mapping, "A/b:443=h:1")))

    def test_flag(self) -> None:
        """The flag is repeatable, takes several in a word, and is refused in one line."""
        found = parse(["--service-map=a/b:1=h:2,a/b:2=h:3", "--service-map", "c/d:1=[::1]:4"]).cluster.service_map
        self.assertEqual([str(each) for each in found], ["a/b:1=h:2", "a/b:2=h:3", "c/d:1=[::1]:4"])
        for value, why in (
            ("a/b", "must be namespace/name:port=host:port"),
            ("a/b:1=h:2,a/b:1=h:3", "a/b:1 is mapped twice"),
        ):
            error: ConfigError = self.assertRaises(ConfigError, parse, [f"--service-map={value}"])
            self.assertEqual(error.problems, (f'invalid argument "{value}" for "--service-map" flag: {why}',))


class FileTests(SynchronousTestCase):
    """The file of mappings."""

    def setUp(self) -> None:
        self.path = Path(self.mktemp())

    def test_lines(self) -> None:
        """One mapping a line; empty lines and comments do not count."""
        self.path.write_text("# webhooks\n\n a/b:443=127.0.0.1:1 \r\nc/d:443=[::1]:2")
        self.assertEqual([str(each) for each in read_mappings(self.path)], ["a/b:443=127.0.0.1:1", "c/d:443=[::1]:2"])
        self.path.write_text("")
        self.assertEqual(read_mappings(self.path), ())

    def test_unusable(self) -> None:
        """A file that cannot be used is refused with its name, and the line."""
        self.assertProblem("No such file or directory")
        for content, why in (
            (b"a/b:1=h:1\nx\n", 'line 2: "x": must be namespace/name:port=host:port'),
            (b"a/b:1=h:1\na/b:1=h:2\n", 'line 2: "a/b:1=h:2": a/b:1 is mapped twice'),
            (b"\xff", "is not UTF-8"),
            (b"#" * (FILE_BYTES + 1), f"is larger than {FILE_BYTES} bytes"),
        ):
            self.path.write_bytes(content)
            self.assertProblem(why)

    def assertProblem(self, why: str) -> None:
        self.assertEqual(str(self.assertRaises(ConfigError, read_mappings, self.path)), f"{self.path}: {why}")

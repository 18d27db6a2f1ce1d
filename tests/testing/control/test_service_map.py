"""Mappings of Services to addresses of the test's own machine."""

from __future__ import annotations

from pathlib import Path

from orchtw.config.service_map import FILE_BYTES, read_mappings
from orchtw.testing.control import service_map
from orchtw.testing.control.service_map import ServiceMapFile
from tests.testing.control.case import ControlCase


class ServiceMapTests(ControlCase):
    def test_forms(self) -> None:
        """A mapping that the server would refuse is rejected, with the reason."""
        good, address = "a/hook:443", "127.0.0.1:1"
        for service, to in (
            ("hook:443", address), ("a/hook", address), ("Shop/w:443", address), ("a/hook:0", address),
            ("a/hook:99999", address), (f"{good}\nb/c:1", address), ("", address),
            (good, "127.0.0.1"), (good, ":80"), (good, "127.0.0.1:99999"), (good, "a=b:80"), (good, ""),
        ):  # fmt: skip
            self.assertRaises(ValueError, self.server.map_service, service, to)
        error = self.assertRaises(ValueError, self.server.map_service, "Shop/w:443", address)
        self.assertIn('"Shop"', str(error))

    def test_earlier_mappings(self) -> None:
        """A rejected mapping leaves the earlier ones in force, and the same port may be mapped anew."""
        path = Path(self.mktemp())
        services = ServiceMapFile(path)
        services.add("a/hook:443", "127.0.0.1:1")
        self.assertRaises(ValueError, services.add, "A/hook:443", "127.0.0.1:2")
        self.assertEqual([str(each) for each in read_mappings(path)], ["a/hook:443=127.0.0.1:1"])
        services.add("a/hook:0443", "[::1]:2")
        self.assertEqual([str(each) for each in read_mappings(path)], ["a/hook:443=[::1]:2"])

    def test_too_many(self) -> None:
        """A file that the server would not read is not written."""
        self.assertEqual(service_map.FILE_BYTES, FILE_BYTES)
        services = ServiceMapFile(Path(self.mktemp()))
        services.add("a/hook:443", "127.0.0.1:1")
        self.patch(service_map, "FILE_BYTES", 30)
        self.assertRaises(ValueError, services.add, "b/hook:443", "127.0.0.1:1")
        self.assertEqual(len(read_mappings(services.path)), 1)

    def test_file(self) -> None:
        """The server takes the mapping over."""
        self.server.map_service("default/hook:443", "127.0.0.1:10250")
        self.server.eventually(lambda read: "service-map-file: now using" in self.server.log())

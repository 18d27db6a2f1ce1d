"""The service map of a running server: flags, and a file that is read again (reference HOOK-36)."""
# covers: orchtw.outbound.service_map

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from twisted.application.service import MultiService
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.service_map import INTERVAL_S, service_map
from orchtw.config import Config
from orchtw.config.reloads import Reloads
from orchtw.config.service_map import parse_mapping
from orchtw.errors import ConfigError
from orchtw.outbound.service_map import ServiceMap
from orchtw.outbound.services import ServicePlace, ServiceReference


class ServiceMapTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.file = Path(self.mktemp())
        self.clock, self.reloads, self.services = Clock(), Reloads(), MultiService()
        self.changes = 0

    def made(self, **settings: Any) -> ServiceMap:
        """Return the map of a server that runs."""
        config = Config.of(**settings)
        made = service_map(config.cluster, self.clock, self.reloads, self.services)
        made.listen(self.changed)
        self.services.startService()
        self.addCleanup(self.services.stopService)
        return made

    def changed(self) -> None:
        self.changes += 1

    def replace(self, *lines: str) -> None:
        """Replace the file as `map_service()` does."""
        new = self.file.with_suffix(".new")
        new.write_text("\n".join(lines))
        os.replace(new, self.file)

    def place(self, made: ServiceMap, name: str = "b", port: int = 443) -> str:
        """Return the place of a Service as text, empty if there is none."""
        found = made.place(ServiceReference(namespace="a", name=name, port=port))
        return "" if found is None else f"{found.host}:{found.port}"

    def test_given_by_the_process(self) -> None:
        """The process' own mapping stays when others are replaced, and the administrator's come before it."""
        made = self.made()
        made.give(parse_mapping("a/b:443=127.0.0.1:1"))
        made.replace([parse_mapping("a/c:443=127.0.0.1:2")])
        self.assertEqual((self.place(made), self.place(made, "c")), ("127.0.0.1:1", "127.0.0.1:2"))
        made.replace([parse_mapping("a/b:443=127.0.0.1:3")])
        self.assertEqual((self.place(made), self.changes), ("127.0.0.1:3", 3))

    def test_flags(self) -> None:
        """The flags' places count for their port alone, and may be loopback; there is nothing to reload."""
        made = self.made(service_map=(parse_mapping("a/b:443=127.0.0.1:1"), parse_mapping("a/b:80=[::1]:2")))
        self.assertEqual((self.place(made), self.place(made, port=80), self.place(made, port=81)),
                         ("127.0.0.1:1", "::1:2", ""))
        wanted = ServiceReference(namespace="a", name="b")
        self.assertEqual(made.place(wanted), ServicePlace(host="127.0.0.1", port=1, public=False))
        self.assertEqual((made.ports("a", "b"), made.ports("b", "a")), ({443, 80}, frozenset()))
        self.assertEqual((self.reloads._reads, list(self.services)), ({}, []))

    def test_replaced_file(self) -> None:
        """A replaced file counts for the next call, and in a second for those who listen."""
        self.replace("a/b:443=h:1")
        made = self.made(service_map_file=self.file)
        self.assertEqual((self.place(made), self.changes), ("h:1", 0))
        self.replace("a/b:443=h:2", "a/c:443=h:3")
        self.assertEqual((self.place(made), self.place(made, "c"), self.changes), ("h:2", "h:3", 1))
        self.replace()
        self.clock.advance(INTERVAL_S)
        self.assertEqual(self.changes, 2)
        self.assertEqual((self.place(made), made.ports("a", "c")), ("", frozenset()))

    def test_precedence(self) -> None:
        """A line of the file counts before a flag, which counts again when the line is gone."""
        self.replace("a/b:443=h:1")
        made = self.made(service_map=(parse_mapping("a/b:443=h:9"),), service_map_file=self.file)
        self.assertEqual(self.place(made), "h:1")
        self.replace("")
        self.assertEqual(self.place(made), "h:9")

    def test_unusable_at_the_start(self) -> None:
        """A file that cannot be used ends the start with one line."""
        error = self.assertRaises(ConfigError, self.made, service_map_file=self.file)
        self.assertEqual(str(error), f"--service-map-file: {self.file}: No such file or directory")

    def test_unusable_later(self) -> None:
        """Later one keeps what was read before; SIGHUP says so too."""
        self.replace("a/b:443=h:1")
        made = self.made(service_map_file=self.file)
        self.replace("nonsense")
        self.assertEqual((self.place(made), self.place(made)), ("h:1", "h:1"))
        error = self.assertRaises(ConfigError, self.reloads.read, "service map")
        self.assertIn('line 1: "nonsense": must be namespace/name:port=host:port', str(error))
        self.replace("a/b:443=h:2")
        self.reloads.read("service map")
        self.assertEqual(self.place(made), "h:2")

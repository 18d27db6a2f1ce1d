"""Waiting until no controller writes any more."""

from __future__ import annotations

import threading

from orchtw.testing.control.failures import NotQuiet
from tests.testing.api_servers import CONFIG_MAPS, config_map
from tests.testing.control.case import ControlCase


class QuietTests(ControlCase):
    def test_quiet(self) -> None:
        """Silence, and the server's own writes, pass."""
        self.server.quiet(0.05)
        self.server.quiet(0.01, user="operator")

    def test_hot_loop(self) -> None:
        """A user that goes on writing fails the assertion, which names the writes."""
        self.create(CONFIG_MAPS, config_map("a"))
        ended = threading.Event()

        def write() -> None:
            number = 0
            while not ended.is_set():
                number += 1
                self.patch_data("a", x=str(number))

        self.meanwhile(write)
        self.addCleanup(ended.set)
        error = self.assertRaises(NotQuiet, self.server.quiet, 60, user="orch-testing")
        self.assertEqual(len(error.writes), 20)
        self.assertIn("20 or more writes by orch-testing within 60 s", str(error))
        self.assertIn("MODIFIED configmaps default/a", str(error))

    def test_ignored(self) -> None:
        """Writes to ignored resources, and those that the filters leave out, pass."""
        self.meanwhile(lambda: self.create(CONFIG_MAPS, config_map("a")))
        self.server.quiet(0.1, ignore=["configmaps"])
        self.meanwhile(lambda: self.create(CONFIG_MAPS, config_map("b")))
        self.server.quiet(0.1, namespace="kube-system", resource="secrets")

"""Modules that a start does without (`orchtw.server`)."""

from __future__ import annotations

import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

LATE = (
    *("yaml", "wsproto", "prometheus_client", "zoneinfo", "treq", "automat", "orchtw.workers", "orchtw.authn.oidc"),
    *("orchtw.authn.webhook", "orchtw.authz.node", "orchtw.authz.webhook", "orchtw.audit.backends"),
    *("orchtw.storage.etcd", "orchtw.storage.remote", "orchtw.storage.encryption.kms", "orchtw.serving.websocket"),
    *("orchtw.storage.memory", "orchtw.snapshots", "orchtw.assembly.state", "orchtw.endpoints.state"),
    *("orchtw.admission.plugins.pod_security_policy", "orchtw.faults", "orchtw.endpoints.faults"),
    *("orchtw.history", "orchtw.commands.record", "orchtw.assembly.standard_input"),
    *("orchtw.commands.shell.description", "orchtw.commands.shell.command"),
    *("orchtw.filters.faults", "orchtw.filters.fault_subjects", "orchtw.serving.faulty_watch"),
    *("orchtw.verbs.stale_reads", "twisted.internet.endpoints", "jwt", "ifaddr"),
    *("orchtw.schema.cel.tokens", "orchtw.schema.cel.values", "orchtw.schema.cel.compiler"),
    *("hpack", "orchtw.serving.http2.connection", "orchtw.serving.http2.stream", "google.protobuf", "re2"),
)
"""Libraries and modules that only some flags and requests need."""

SCRIPT = """
import sys
import orchtw.tap, orchtw.assembly.flags, orchtw.server
from orchtw.storage.sqlite import store
print(*sys.modules)
"""

SIMULATING = """
import sys
import orchtw.simulation.simulation, orchtw.simulation.agent.means
print(*sys.modules)
"""
LATE_IN_SIMULATIONS = (
    *("wsproto", "zoneinfo", "orchtw.simulation.agent.streams", "orchtw.simulation.agent.port_forward"),
)
"""Modules that only some requests to simulated nodes, and some schedules, need."""


class LateImportTests(SynchronousTestCase):
    """Imports of a server with the default flags."""

    def test_start(self) -> None:
        """None of these is imported before a flag or a request asks for it."""
        told = subprocess.run([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, check=True)
        imported = set(told.stdout.decode().split())
        self.assertIn("orchtw.server", imported)
        self.assertEqual(sorted(imported.intersection(LATE)), [])

    def test_simulation(self) -> None:
        """A start with a simulated cluster imports none of these either (reference SIM-1)."""
        told = subprocess.run([sys.executable, "-c", SIMULATING], stdout=subprocess.PIPE, check=True)
        imported = set(told.stdout.decode().split())
        self.assertIn("orchtw.simulation.controllers", imported)
        self.assertEqual(sorted(imported.intersection(LATE_IN_SIMULATIONS)), [])

"""Base of a server: its catalogue, its codecs and the resources that are served."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.resources import Resources
from orchtw.config import Config
from orchtw.naming.naming import Naming
from tests.client.world import MemoryStore


class ResourcesTests(SynchronousTestCase):
    def resources(self, **settings: Any) -> Resources:
        """Resources under these settings, on a store in memory."""
        config, clock = Config.of(**settings), Clock()
        return Resources(config, Naming.of(config.generic.vocabulary), clock, MemoryStore(clock))

    def served(self, **settings: Any) -> set[str]:
        """The served resources, such as `v1/pods`."""
        return {f"{each.api_version}/{each.plural}" for each in self.resources(**settings).enabled}

    def test_enabled(self) -> None:
        """Groups and versions are served as the flag says, and resources of a gate with it (reference DISC-1)."""
        usual = self.served()
        self.assertIn("v1/pods", usual)
        self.assertNotIn("apps/v1/deployments", self.served(runtime_config=(("apps/v1", "false"),)))
        self.assertIn("apps/v1/deployments", usual)

    def test_shared_functions(self) -> None:
        """Two servers of one process share what is compiled, but not the kinds that one of them adds."""
        one, other = self.resources(), self.resources()
        self.assertIs(one.codecs.generated, other.codecs.generated)
        self.assertIsNot(one.codecs.schemas, other.codecs.schemas)
        self.assertIsNot(one.codecs.kind("v1", "Pod"), other.codecs.kind("v1", "Pod"))

    def test_other_options(self) -> None:
        """Servers whose rules differ share nothing."""
        usual = self.resources()
        for settings in ({"emulated_version": "1.30"}, {"vocabulary": "kubernetes"}, {"allow_privileged": True}):
            self.assertIsNot(self.resources(**settings).codecs.generated, usual.codecs.generated, settings)

"""Removal of the storage versions of servers that are gone (reference CTRL-41)."""

from __future__ import annotations

from orchtw.errors import NotFound
from orchtw.rules.storage_versions import stated
from orchtw.wire.objects import Object
from tests.controllers.controlled import ControllerTestCase

VERSIONS = "internal.apiserver.orch.io/v1alpha1"
NOW = "2026-01-01T00:00:00Z"
SYSTEM, NAME = "orch-system", "core.pods"
LABELS = {"orch.io/component": "orch-apiserver"}


class CollectorTests(ControllerTestCase):
    names = ("storage-version-gc",)

    def lease(self, name: str, labels: dict[str, str] = LABELS) -> None:
        """Create a server's Lease and settle."""
        meta = {"name": name, "namespace": SYSTEM, "labels": labels}
        leases = self.world.resource("leases", "coordination.orch.io/v1")
        self.world.run(self.world.client.create(leases, SYSTEM, {"metadata": meta}))
        self.world.settle()

    def gone(self, name: str) -> None:
        """Delete a server's Lease and settle."""
        leases = self.world.resource("leases", "coordination.orch.io/v1")
        self.world.run(self.world.client.delete(leases, SYSTEM, name))
        self.world.settle()

    def say(self, *servers: str) -> None:
        """Store the encoding versions that these servers use for pods."""
        versions = self.world.resource("storageversions", VERSIONS)
        status: Object = {}
        for server in servers:
            status = stated(status, server, "v1", ["v1"], NOW)
        made = self.world.run(self.world.client.create(versions, "", {"metadata": {"name": NAME}, "spec": {}}))
        self.world.run(self.world.client.update(versions, "", NAME, {**made, "status": status}, "status"))
        self.world.settle()

    def said(self) -> list[str]:
        """Return the IDs of servers with an entry; raise NotFound without a StorageVersion."""
        versions = self.world.resource("storageversions", VERSIONS)
        found = self.world.run(self.world.client.get(versions, "", NAME))
        return [each["apiServerID"] for each in found["status"]["storageVersions"]]

    def test_gone(self) -> None:
        """A server's entry is removed with its Lease; the common version is then that of the others."""
        for name in ("a", "b"):
            self.lease(name)
        self.say("a", "b")
        self.assertEqual(self.said(), ["a", "b"])
        self.gone("a")
        self.assertEqual(self.said(), ["b"])

    def test_none_left(self) -> None:
        """An object of which nothing is left is deleted."""
        self.lease("a")
        self.say("a")
        self.gone("a")
        self.assertRaises(NotFound, self.said)

    def test_never_there(self) -> None:
        """Entries of a server without a Lease are removed, at a start too."""
        self.lease("a")
        self.say("a", "ghost")
        self.assertEqual(self.said(), ["a"])
        self.end()
        self.gone("a")
        self.begin()
        self.world.settle()
        self.assertRaises(NotFound, self.said)

    def test_other_leases(self) -> None:
        """Leases of others come and go."""
        self.lease("a")
        self.lease("other", {})
        self.say("a")
        self.gone("other")
        self.assertEqual(self.said(), ["a"])

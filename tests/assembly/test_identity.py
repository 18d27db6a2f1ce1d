"""Identity that a server publishes (reference CTRL-40, VER-19)."""
# covers: orchtw.bootstrap.storage_versions

from __future__ import annotations

from orchtw.assembly.identity import Identity
from orchtw.bootstrap.ensurer import Ensurer
from orchtw.bootstrap.storage_versions import STORAGE_VERSIONS
from orchtw.config import Config
from orchtw.errors import ServiceUnavailable, StatusError
from orchtw.filters.storage_versions import StorageVersionStage
from orchtw.request import Peer, Request, Response
from orchtw.rules.request_info import parse
from orchtw.storage.store import Op
from orchtw.wire.objects import Object
from tests.client.world import WorldTestCase

SYSTEM = "orch-system"
GATES = (("APIServerIdentity", "true"), ("StorageVersionAPI", "true"))


class IdentityTests(WorldTestCase):
    def identity(self, gates: tuple[tuple[str, str], ...] = GATES) -> Identity:
        """Return the identity of a started server."""
        world = self.world
        ensurer = Ensurer(targets=world.targets, writes=world.registry.writes, naming=world.naming)
        config = Config.of(feature_gates=gates, identity_lease_duration_seconds=60)
        made = Identity(config, ensurer, world.clock)
        self.addCleanup(made.stop)
        world.run(made.start())
        return made

    def listed(self, plural: str, group_version: str) -> list[Object]:
        """All objects of a resource."""
        found = self.world.run(self.world.client.list(self.world.resource(plural, group_version)))
        return [item.load() for item in found.items]

    def leases(self) -> list[Object]:
        return self.listed("leases", "coordination.orch.io/v1")

    def versions(self) -> dict[str, Object]:
        group, version, plural = STORAGE_VERSIONS
        found = self.listed(plural, f"{group}/{version}")
        return {each["metadata"]["name"]: each["status"] for each in found}

    def test_off(self) -> None:
        """Without the gates nothing is said, with the first alone only that the server is there."""
        self.identity(())
        self.assertEqual((self.leases(), self.versions()), ([], {}))
        self.identity(GATES[:1])
        self.assertEqual((len(self.leases()), self.versions()), (1, {}))

    def test_lease(self) -> None:
        """It is labelled, names its holder, and is renewed every ten seconds."""
        self.identity()
        (lease,) = self.leases()
        self.assertRegex(lease["metadata"]["name"], r"^orch-apiserver-[0-9a-f-]{36}$")
        self.assertEqual(lease["metadata"]["namespace"], SYSTEM)
        self.assertEqual(lease["metadata"]["labels"], {"orch.io/component": "orch-apiserver"})
        self.assertEqual(lease["spec"]["holderIdentity"], lease["metadata"]["name"])
        self.assertEqual(lease["spec"]["leaseDurationSeconds"], 60)
        self.world.settle(11)
        self.assertGreater(self.leases()[0]["spec"]["renewTime"], lease["spec"]["renewTime"])

    def test_versions(self) -> None:
        """Every built-in resource that is served has its object, under each of its groups."""
        self.identity()
        versions = self.versions()
        self.assertEqual(versions["core.pods"]["commonEncodingVersion"], "v1")
        (said,) = versions["events.orch.io.events"]["storageVersions"]
        self.assertEqual(said["encodingVersion"], "v1")
        self.assertEqual(said["decodableVersions"], ["v1", "events.orch.io/v1", "events.orch.io/v1beta1"])
        self.assertEqual(said["apiServerID"], self.leases()[0]["metadata"]["name"])

    def test_two_servers(self) -> None:
        """Each says its own; one whose Lease is over is removed by the other."""
        self.identity().stop()
        self.identity()
        self.assertEqual(len(self.leases()), 2)
        self.assertEqual(len(self.versions()["core.pods"]["storageVersions"]), 2)
        self.world.settle(125)
        self.assertEqual(len(self.leases()), 1)

    def test_store_that_refuses(self) -> None:
        """A failed identity write does not abort the start and is retried a second later."""
        commit = self.world.store.commit

        self.patch(self.world.store, "commit", self.refuse)
        self.identity()
        self.world.store.commit = commit  # type: ignore[method-assign]
        self.assertEqual(self.leases(), [])
        self.world.settle(2)
        self.assertEqual(len(self.leases()), 1)
        self.assertTrue(self.versions())

    def test_writes_wait(self) -> None:
        """As long as it is not said how a resource is stored its writes are a 503, but for what saying so takes
        (reference VER-20).
        """
        commit = self.world.store.commit
        self.patch(self.world.store, "commit", self.refuse)
        unstated = self.identity().unstated
        assert unstated is not None
        stage = StorageVersionStage(unstated, self.world.naming)
        apps, core = "/apis/apps/v1/namespaces/a/deployments", "/api/v1/namespaces/a"
        text = "wait for storage version registration to complete for resource: {}, last seen error: no room"
        for method, path, resource in (
            ("POST", apps, "deployments.apps"), ("PATCH", f"{core}/pods/b", "pods"), ("PUT", f"{core}", "namespaces"),
            ("DELETE", "/apis/coordination.orch.io/v1/namespaces/a/leases/b", "leases.coordination.orch.io"),
        ):
            error = self.assertRaises(ServiceUnavailable, self.passed, stage, method, path)
            self.assertEqual(error.message, text.format(resource))
        for method, path in (
            ("GET", apps), ("GET", f"{core}/pods?watch=1"), ("POST", "/apis/authorization.orch.io/v1/nothing"),
            ("POST", "/apis/example.com/v1/custom"), ("POST", "/version"),
            ("PUT", "/apis/internal.apiserver.orch.io/v1alpha1/storageversions/x/status"),
            ("POST", f"/apis/coordination.orch.io/v1/namespaces/{SYSTEM}/leases"),
        ):
            self.assertTrue(self.passed(stage, method, path))
        self.world.store.commit = commit  # type: ignore[method-assign]
        self.world.settle(2)
        self.assertTrue(self.passed(stage, "POST", apps))

    def refuse(self, _op: Op) -> None:
        raise StatusError("no room")

    def passed(self, stage: StorageVersionStage, method: str, path: str) -> bool:
        """Report whether the stage lets a request pass."""
        path, _, query = path.partition("?")
        asked = Request(method=method, path=path, query=query, peer=Peer(address="", port=0))
        asked.info = parse(method, path, asked.params)

        async def proceed(_request: Request) -> Response:
            return Response()

        return self.world.run(stage.handle(asked, proceed)).code == 200

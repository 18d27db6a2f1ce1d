"""Bootstrap objects of every installation (reference CTRL-6)."""

from __future__ import annotations

from typing import Any, ClassVar

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from orchtw.bootstrap.upkeep import INTERVAL_S, RETRY_S, Step, Upkeep
from orchtw.errors import InternalError
from orchtw.testing.in_process import InProcessServer
from tests.verbs.served import ServedCase

SERVICE = "/api/v1/namespaces/default/services"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"


class ObjectTests(TestCase):
    vocabulary = "orch"
    product, system, domain = "orch", "orch-system", "orch.io"
    scheduling, discovery = "scheduling.orch.io", "discovery.orch.io"
    address = "192.0.2.7"

    async def setUp(self) -> None:  # type: ignore[override]
        self.server = InProcessServer(
            reactor, self.mktemp(), vocabulary=self.vocabulary, advertise_address=self.address
        )
        await self.server.start()
        self.addCleanup(self.server.stop)

    async def got(self, path: str) -> dict[str, Any]:
        answer = await self.server.request("GET", path)
        self.assertEqual(answer.code, 200, answer)
        found: dict[str, Any] = answer.json
        return found

    async def test_service(self) -> None:
        """The server's own Service has the first address of the range, and its endpoints name the server."""
        service = await self.got(f"{SERVICE}/{self.product}")
        self.assertEqual(service["spec"]["clusterIP"], "10.0.0.1")
        (port,) = service["spec"]["ports"]
        self.assertEqual((port["name"], port["port"], port["targetPort"]), ("https", 443, 6443))
        self.assertEqual(service["metadata"]["labels"], {"component": "apiserver", "provider": self.product})
        endpoints = await self.got(f"{ENDPOINTS}/{self.product}")
        self.assertEqual(endpoints["subsets"][0]["addresses"], [{"ip": self.address}])
        self.assertEqual(endpoints["metadata"]["labels"], {f"endpointslice.{self.domain}/skip-mirror": "true"})
        path = f"/apis/{self.discovery}/v1/namespaces/default/endpointslices/{self.product}"
        self.assertEqual((await self.got(path))["endpoints"][0]["addresses"], [self.address])

    async def test_priority_classes(self) -> None:
        """Both of the system's classes are there with their values."""
        for name, value in (("system-node-critical", 2000001000), ("system-cluster-critical", 2000000000)):
            found = await self.got(f"/apis/{self.scheduling}/v1/priorityclasses/{name}")
            self.assertEqual(found["value"], value)
            self.assertTrue(found["description"])

    async def test_authentication_info(self) -> None:
        """Extension servers find the authorities of client certificates."""
        found = await self.got(f"/api/v1/namespaces/{self.system}/configmaps/extension-apiserver-authentication")
        self.assertEqual(found["metadata"]["namespace"], self.system)

    async def test_withdrawn_at_the_end(self) -> None:
        """A server that ends is no longer an endpoint of its Service."""
        await self.server.instance.membership.withdraw()
        self.assertNotIn("subsets", await self.got(f"{ENDPOINTS}/{self.product}"))


class LoopbackTests(ObjectTests):
    """A server that only this machine can reach is an endpoint too, though nobody may make such endpoints."""

    address = "127.0.0.1"

    async def test_others(self) -> None:
        """The rule holds for everybody else."""
        subsets = [{"addresses": [{"ip": self.address}], "ports": [{"port": 1}]}]
        answer = await self.server.request("POST", ENDPOINTS, {"metadata": {"name": "mine"}, "subsets": subsets})
        self.assertEqual(answer.code, 422)


class KubernetesObjectTests(ObjectTests):
    vocabulary = "kubernetes"
    product, system, domain = "kubernetes", "kube-system", "kubernetes.io"
    scheduling, discovery = "scheduling.k8s.io", "discovery.k8s.io"


class LostTests(ServedCase):
    """Bootstrap objects that are deleted by clients."""

    more: ClassVar[dict[str, Any]] = {"advertise_address": "192.0.2.7"}

    def test_made_again(self) -> None:
        """Everything comes back within a minute, the Service at its address, whatever was created meanwhile
        (reference CTRL-27).
        """
        classes = "/apis/scheduling.orch.io/v1/priorityclasses"
        slices = "/apis/discovery.orch.io/v1/namespaces/default/endpointslices"
        maps = "/api/v1/namespaces/orch-system/configmaps"
        paths = (
            f"{SERVICE}/orch",
            f"{slices}/orch",
            f"{maps}/extension-apiserver-authentication",
        )
        for path in (*paths, classes):
            self.assertEqual(self.code("DELETE", path), 200, path)
        self.clock.advance(0)
        self.assertEqual(self.code("GET", f"{ENDPOINTS}/orch"), 404)
        for number in range(20):
            self.done("POST", SERVICE, {"metadata": {"name": f"s{number}"}, "spec": {"ports": [{"port": 80}]}})
        self.clock.advance(INTERVAL_S)
        for _ in range(100):
            self.clock.advance(0)
        protected = (f"{classes}/system-node-critical", f"{classes}/system-cluster-critical")
        for path in (*paths, *protected, f"{ENDPOINTS}/orch"):
            self.assertEqual(self.code("GET", path), 200, path)
        self.assertEqual(self.done("GET", f"{SERVICE}/orch")["spec"]["clusterIP"], "10.0.0.1")


class UpkeepTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.ran: list[str] = []
        self.met: list[str] = []
        self.broken = False
        self.clock = Clock()
        self.upkeep = Upkeep([self.step("one"), self.step("two")], self.clock)

    def step(self, name: str) -> Step:
        async def run() -> None:
            if self.broken:
                raise InternalError("full")
            self.ran.append(name)

        def ended(done: bool) -> None:
            if done:
                self.met.append(name)

        return Step(name=name, run=run, ended=ended)

    def test_in_order_and_again(self) -> None:
        """The start runs each step and says so; every minute they run again."""
        self.successResultOf(Deferred.fromCoroutine(self.upkeep.start()))
        self.assertEqual((self.ran, self.met), (["one", "two"], ["one", "two"]))
        self.clock.advance(INTERVAL_S)
        self.assertEqual(self.ran, ["one", "two"] * 2)
        self.upkeep.stop()
        self.clock.advance(INTERVAL_S)
        self.assertEqual(len(self.ran), 4)

    def test_a_refusal_is_tried_again_soon(self) -> None:
        """A step that is refused later is tried again within a second, and the upkeep goes on."""
        self.successResultOf(Deferred.fromCoroutine(self.upkeep.start()))
        self.broken = True
        self.clock.advance(INTERVAL_S)
        self.broken = False
        self.clock.advance(RETRY_S)
        self.assertEqual(self.ran, ["one", "two"] * 2)
        self.upkeep.stop()

    def test_a_check_stands_for_what_happened(self) -> None:
        """A step that is refused at the start leaves its check unmet until it has happened."""
        self.broken = True
        self.successResultOf(Deferred.fromCoroutine(self.upkeep.start()))
        self.assertEqual(self.met, [])
        self.broken = False
        self.clock.advance(RETRY_S)
        self.assertEqual(self.met, ["one", "two"])
        self.upkeep.stop()

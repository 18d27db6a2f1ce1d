"""Servers of one cluster that do not agree (reference CTRL-52)."""

from __future__ import annotations

import json
import socket

from twisted.internet.task import deferLater

from tests.end_to_end.case import reactor
from tests.end_to_end.client import Client
from tests.end_to_end.test_leadership import ServersCase

REST_S = 1.0
FIFTHS = {
    "orchtw.bootstrap.presence.RENEWAL_S": 1.0,
    "orchtw.bootstrap.presence.WAITING_S": 0.2,
    "orchtw.bootstrap.server_leases.LIFE_S": 3.0,
}
"""Fifths of what the periods of servers' records are for users."""


class AgreementTests(ServersCase):
    """Two servers that were started with different keys or settings."""

    periods = FIFTHS

    def revision(self) -> int:
        """Return the number of writes."""
        return int(json.loads(self.cluster.control("get", "/", "-w", "json"))["header"]["revision"])

    async def readyz(self, client: Client) -> tuple[int, str]:
        """Return the readiness for a load balancer."""
        answer = await client.get("/readyz?verbose")
        return answer.code, answer.body.decode()

    async def test_other_keys(self) -> None:
        """Two servers whose folders were made apart do not fight: the later one is not ready, says why, and works
        when the earlier one has gone.
        """
        first, client = await self.start()
        second, other = await self.start(folder=self.folders[1].with_name("apart"))

        async def led() -> bool:
            return await self.leads(client)

        await self.until(led)
        code, text = await self.readyz(other)
        self.assertEqual(code, 500, text)
        why = f"differs from server 127.0.0.1:{first.port} ({socket.gethostname()} "
        self.assertIn(f"[-]servers-agree failed: {why}", text)
        self.assertIn("in authorities of clients, authorities of servers, keys of service accounts\n", text)
        self.assertIn("[-]poststarthook/bootstrap-controller failed", text)
        self.assertIn(why, second.log)
        self.assertEqual((await other.get("/livez")).code, 200)
        self.assertEqual((await self.readyz(client))[0], 200)

        async def measured() -> bool:
            line = b'orchtw_server_disagreements{fact="keys of service accounts"} 1'
            return line in (await client.get("/metrics")).body

        await self.until(measured)
        before = self.revision()
        await deferLater(reactor, REST_S)
        self.assertLess(self.revision() - before, 10)
        await first.terminate()

        async def takes_over() -> bool:
            return (await self.readyz(other))[0] == 200 and await self.leads(other)

        await self.until(takes_over)

    async def test_other_settings(self) -> None:
        """Servers with other admission plugins or modes both serve, and tell of it."""
        _, client = await self.start()
        second, other = await self.start("--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount")
        code, text = await self.readyz(other)
        self.assertEqual(code, 200, text)
        self.assertIn("in --authorization-mode, --disable-admission-plugins\n", text)
        self.assertIn("differs from server 127.0.0.1", second.log)

        async def told() -> bool:
            return "in --authorization-mode, --disable-admission-plugins\n" in (await self.readyz(client))[1]

        await self.until(told)

    async def test_other_ranges(self) -> None:
        """A changed range waits for those who have the old one; both are never ready at once."""
        first, client = await self.start()
        _, other = await self.start("--service-cluster-ip-range=10.9.0.0/24")
        code, text = await self.readyz(other)
        self.assertEqual(code, 500, text)
        self.assertIn("in --service-cluster-ip-range\n", text)
        await first.kill9()  # its record ends by itself

        async def ready() -> bool:
            return (await self.readyz(other))[0] == 200

        await self.until(ready)


class KubernetesAgreementTests(AgreementTests):
    """The same among Kubernetes' names."""

    vocabulary = "kubernetes"

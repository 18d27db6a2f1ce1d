"""A second server is one command: its keys come from the store (reference CTRL-54)."""

from __future__ import annotations

from pathlib import Path

from orchtw.testing.start_failed import StartFailed
from tests.end_to_end.client import Client, tls_context
from tests.end_to_end.several import all_of
from tests.end_to_end.test_leadership import ServersCase

SECRET = "a secret that all servers know"


class HandoverTests(ServersCase):
    """Servers with empty folders and a join secret."""

    async def setUp(self) -> None:  # type: ignore[override]  # trial awaits it
        await super().setUp()
        parent = self.folders[0].parent
        self.empty = [parent / name for name in ("one", "two", "three")]
        self.secret = parent / "secret"
        self.secret.write_text(SECRET + "\n")
        self.secret.chmod(0o600)
        self.flag = f"--join-secret-file={self.secret}"

    async def refused(self, *flags: str) -> str:
        """Return the lines of a failed start."""
        server = self.server(self.empty[2], *flags)
        with self.assertRaises(StartFailed) as raised:
            await server.start()
        self.assertFalse((self.empty[2] / "pki").exists())
        errors: str = raised.exception.errors
        return errors

    async def ready(self, client: Client) -> bool:
        return (await client.get("/readyz")).code == 200

    async def test_join(self) -> None:
        """The second server has the first one's authorities and keys: it is ready, clients of one are believed by the
        other, and tokens too; nothing of them is in the store or in a log.
        """
        first, client = await self.start(self.flag, folder=self.empty[0])
        second, other = await self.start(self.flag, folder=self.empty[1])
        for each in (client, other):
            self.assertTrue(await self.ready(each))
        for name in ("ca.crt", "ca.key", "sa.key", "front-proxy-ca.key"):
            contents = [(folder / "pki" / name).read_bytes() for folder in self.empty[:2]]
            self.assertEqual(contents[0], contents[1], name)
        crossed = Client(second.port, tls_context(first.kubeconfig))
        self.addCleanup(crossed.close)
        self.assertEqual((await crossed.get("/api/v1/secrets")).code, 200)
        path = "/api/v1/namespaces/default/serviceaccounts/default/token"

        async def made() -> bool:
            return (await client.get(path.removesuffix("/token"))).code == 200

        await self.until(made)
        token = (await client.post(path, {"spec": {}})).json["status"]["token"]
        bearer = Client(second.port, tls_context(second.kubeconfig, certificate=False),
                        {"authorization": f"Bearer {token}"})  # fmt: skip
        self.addCleanup(bearer.close)
        self.assertEqual((await bearer.get("/api/v1/secrets")).code, 403)
        kept = self.cluster.control("get", "--prefix", "/registry/handover/")
        self.assertIn("orchtw-keys:v1:", kept)
        key = (self.empty[0] / "pki" / "ca.key").read_text().splitlines()[1]
        for text in (kept, first.log, second.log, first.errors, second.errors):
            self.assertNotIn(key, text)
            self.assertNotIn(SECRET, text)

    async def test_restart(self) -> None:
        """A server that has joined starts again like any other, without the first one and without the secret."""
        first, _ = await self.start(self.flag, folder=self.empty[0])
        second, other = await self.start(self.flag, folder=self.empty[1])
        await first.terminate()
        await second.terminate()
        other.close()
        _, again = await self.start(folder=self.empty[1])
        self.assertTrue(await self.ready(again))

    async def test_two_at_once(self) -> None:
        """Servers that start at the same time on an empty store have the same keys."""
        started = await all_of(*(self.start(self.flag, folder=folder) for folder in self.empty[:2]))
        keys = {(folder / "pki" / "ca.key").read_bytes() for folder in self.empty[:2]}
        self.assertEqual(len(keys), 1)
        for _, client in started:
            self.assertTrue(await self.ready(client))

    async def test_refused(self) -> None:
        """Another secret, no keys in the store, and no shared store: a line each, and no folder is made."""
        await self.start(folder=self.empty[0])
        said = await self.refused(self.flag)
        self.assertIn("--join-secret-file: there are no keys in the store, and a live server", said)
        first = self.servers[0]
        await first.terminate()
        self.servers.clear()
        first, _ = await self.start(self.flag, folder=self.empty[0])
        self.assertIn("stored this server's keys", first.log)
        wrong = Path(self.mktemp()).absolute()
        wrong.write_text("another secret of that length")
        said = await self.refused(f"--join-secret-file={wrong}")
        why = "Error: --join-secret-file: the keys in the store are sealed with another secret"
        self.assertEqual(said.splitlines()[-1], why)
        self.assertNotIn("Traceback", said)


class KubernetesHandoverTests(HandoverTests):
    """The same among Kubernetes' names."""

    vocabulary = "kubernetes"

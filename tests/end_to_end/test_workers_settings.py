"""State shared by a server's two processes: keys, audit log, tokens, verbosity, end (reference STORE-28)."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import orjson
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater

from orchtw.testing.process import ServerProcess
from tests.end_to_end.case import reactor
from tests.end_to_end.client import Client, tls_context
from tests.end_to_end.test_encryption import SECRETS, WORDS, EncryptionCase, key
from tests.end_to_end.test_workers import CLIENTS, MAPS, is_there, workers_of

POLICY = """\
apiVersion: audit.orch.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: RequestResponse
  resources: [{group: "", resources: [configmaps]}]
- level: None
"""
EACH = 15
PADDING = "x" * 8192
"""With it in both bodies, what all write takes more than one file of the audit log."""


class SettingsTests(EncryptionCase):
    """One server for all of this: its start takes longer than the rest."""

    def files(self) -> tuple[Path, tuple[str, ...]]:
        """The folder of the audit log, and flags."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        self.tokens = folder / "tokens.csv"
        self.tokens.write_text('old,ann,1,"system:masters"\n')
        (folder / "policy.yaml").write_text(POLICY)
        return folder / "logs", (
            "--workers=2",
            "--shutdown-delay-duration=2s",
            f"--token-auth-file={self.tokens}",
            f"--audit-policy-file={folder / 'policy.yaml'}",
            f"--audit-log-path={folder / 'logs' / 'audit.log'}",
            "--audit-log-maxsize=1",
        )

    def clients(self, server: ServerProcess, token: str = "") -> list[Client]:
        """Each has a connection of its own, so that both processes have some, but for one time in a hundred."""
        headers = {"authorization": f"Bearer {token}"} if token else None
        context = tls_context(server.kubeconfig, certificate=not token)
        made = [Client(server.port, context, headers) for _ in range(CLIENTS)]
        for each in made:
            self.addCleanup(each.close)
        return made

    async def until_logged(self, server: ServerProcess, text: str, times: int) -> None:
        while server.log.count(text) < times:
            await deferLater(reactor, 0.05)

    async def test_common(self) -> None:
        """Whatever connection is used, the same holds; and what was sealed is read with the next start's keys."""
        first, second = {"aescbc": {"keys": [key("one")]}}, {"aesgcm": {"keys": [key("two")]}}
        logs, flags = self.files()
        server, _ = await self.running(*flags, self.configuration(first))
        clients = self.clients(server)
        (worker,) = workers_of(server)
        await self.sealed(clients)
        await self.audited(clients, logs)
        await self.tokens_read_again(server)
        await self.verbosity(server, clients)
        await self.end(server, clients)
        self.assertFalse(is_there(worker))
        self.assertFalse(self.on_disk())
        server, _ = await self.running("--workers=2", self.configuration(second, first))
        await self.sealed_anew(self.clients(server))
        self.assertEqual(await server.terminate(), 0)
        self.assertNotIn("Traceback", server.log)

    async def sealed(self, clients: list[Client]) -> None:
        """Each seals what it writes, and opens what the others have sealed (reference STORE-14)."""
        for number, client in enumerate(clients):
            await self.make(client, f"s{number}")
        for number, _ in enumerate(clients):
            for client in clients[:: CLIENTS // 4]:
                self.assertEqual(await self.words(client, f"s{number}"), b64encode(WORDS.encode()).decode())

    async def sealed_anew(self, clients: list[Client]) -> None:
        """An empty update seals with the first key, in any process (reference STORE-14)."""
        for number, client in enumerate(clients):
            found = await client.get(f"{SECRETS}/s{number}")
            answer = await client.put(f"{SECRETS}/s{number}", found.json)
            self.assertEqual(answer.code, 200, answer)
            self.assertNotEqual(answer.version, found.version)
            again = await clients[number - 1].put(f"{SECRETS}/s{number}", answer.json)
            self.assertEqual(again.version, answer.version)

    async def audited(self, clients: list[Client], logs: Path) -> None:
        """Whole lines of all processes, one for each request, over all files (reference AUDIT-24)."""

        async def write(number: int) -> None:
            for count in range(EACH):
                body = {"metadata": {"name": f"a{number}-{count}"}, "data": {"padding": PADDING}}
                self.assertEqual((await clients[number].post(MAPS, body)).code, 201)

        await gatherResults([Deferred.fromCoroutine(write(number)) for number in range(CLIENTS)])
        files = list(logs.glob("audit*.log"))
        self.assertGreater(len(files), 1)
        events = [orjson.loads(line) for file in files for line in file.read_bytes().splitlines()]
        made = [each["objectRef"]["name"] for each in events if each["verb"] == "create" and "objectRef" in each]
        wanted = [f"a{number}-{count}" for number in range(CLIENTS) for count in range(EACH)]
        self.assertEqual(sorted(name for name in made if name.startswith("a")), sorted(wanted))

    async def tokens_read_again(self, server: ServerProcess) -> None:
        """SIGHUP of the server reaches all of it (reference OPS-17)."""
        self.tokens.write_text('new,ann,1,"system:masters"\n')
        server.signal("HUP")
        await self.until_logged(server, "reload: reread --token-auth-file", 2)
        for token, code in (("old", 401), ("new", 200)):
            found = [(await each.get(MAPS)).code for each in self.clients(server, token)]
            self.assertEqual(found, [code] * CLIENTS)

    async def verbosity(self, server: ServerProcess, clients: list[Client]) -> None:
        """A verbosity set at one process applies to all (reference OPS-19)."""
        (worker,) = workers_of(server)
        for level in (3, 0):
            text = f"successfully set klog.logging.verbosity to {level}"
            answer = await clients[0].put("/debug/flags/v", str(level).encode())
            self.assertEqual((answer.code, answer.body.decode()), (200, text))
            for each in clients:
                await each.get(f"{MAPS}/at-level-{level}")
        lines = [line.split() for line in server.log.splitlines() if "at-level-" in line]
        self.assertEqual(len([line for line in lines if any("at-level-3" in part for part in line)]), CLIENTS)
        self.assertEqual(len(lines), CLIENTS)
        self.assertLessEqual({int(line[2]) for line in lines}, {server.pid, worker})

    async def end(self, server: ServerProcess, clients: list[Client]) -> None:
        """While the server goes on for the delay, no process says that it is ready (reference OPS-14, OPS-29)."""
        for each in clients:
            self.assertEqual((await each.get("/readyz")).code, 200)
        ended = Deferred.fromCoroutine(server.terminate())
        await self.until_logged(server, "shutdown: /readyz fails", 2)
        for each in clients:
            self.assertEqual(((await each.get("/readyz")).code, (await each.get(MAPS)).code), (500, 200))
        self.assertEqual(await ended, 0)
        self.assertEqual(server.log.count("shutdown: complete"), 2)

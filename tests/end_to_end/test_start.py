"""Starts and ends of the real process (reference OPS-13, OPS-14, DESIGN-20)."""
# covers: orchtw.server

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import Any

from twisted.trial.unittest import TestCase

from orchtw.testing.process import ServerProcess
from orchtw.testing.start_failed import StartFailed
from tests.end_to_end.case import ServerCase, reactor
from tests.end_to_end.client import Answer, Client, tls_context
from tests.forked import forking


class ProcessCase(TestCase):
    """Tests with servers of their own; `reactor` is what starts them."""

    timeout = 300
    reactor: Any = forking

    def server(self, *flags: str, folder: str = "") -> ServerProcess:
        """A server that is yet to be started; killed after the test if it still runs."""
        server = ServerProcess(self.reactor, folder or self.mktemp(), *flags)
        self.addCleanup(server.kill9)
        return server

    def client(self, server: ServerProcess) -> Client:
        """A client with the administrator's certificate."""
        client = Client(server.port, tls_context(server.kubeconfig))
        self.addCleanup(client.close)
        return client

    async def refusal(self, server: ServerProcess) -> str:
        """The one line with which a start is refused."""
        try:
            await server.start()
        except StartFailed as failed:
            error = failed
        else:
            self.fail("it started")
        self.assertEqual((error.status, error.output), (1, ""))
        self.assertNotIn("Traceback", error.errors + server.log)
        lines = error.errors.splitlines()
        self.assertEqual(len(lines), 1, error.errors)
        return str(lines[0])


class FirstStartTests(ProcessCase):
    """Starts as a user's: a new interpreter that imports what it needs."""

    reactor = reactor

    async def test_keys_and_kubeconfig(self) -> None:
        """The first start makes keys, certificates and the administrator's file, private ones mode 0600."""
        server = self.server()
        await server.start()
        self.assertEqual(stat.S_IMODE(server.kubeconfig.stat().st_mode), 0o600)
        pki = server.data_dir / "pki"
        self.assertTrue((pki / "ca.crt").exists())
        keys = list(pki.glob("*.key"))
        self.assertIn(pki / "ca.key", keys)
        self.assertEqual({stat.S_IMODE(key.stat().st_mode) for key in keys}, {0o600})
        self.assertIn(server.address, server.kubeconfig.read_text())
        answer = await self.client(server).get("/api/v1/namespaces")
        names = [each["metadata"]["name"] for each in answer.json["items"]]
        self.assertEqual(names, ["default", "orch-node-lease", "orch-public", "orch-system"])

    async def test_second_start_reuses(self) -> None:
        """A second start keeps keys and objects; the old kubeconfig's certificate is still good."""
        server = self.server()
        await server.start()
        client = self.client(server)
        made = await client.post("/api/v1/namespaces", {"metadata": {"name": "kept"}})
        context = tls_context(server.kubeconfig)
        before = {path: path.read_bytes() for path in (server.data_dir / "pki").iterdir()}
        self.assertEqual(await server.terminate(), 0)
        await server.start()
        self.assertEqual({path: path.read_bytes() for path in (server.data_dir / "pki").iterdir()}, before)
        again = Client(server.port, context)
        self.addCleanup(again.close)
        self.assertEqual((await again.get("/api/v1/namespaces/kept")).json, made.json)

    async def test_ready_when_announced(self) -> None:
        """Once the line is printed, `/readyz` is 200 and a free port is in it and in the kubeconfig (reference
        FLAG-4, DESIGN-22).
        """
        server = self.server("--secure-port=0")
        await server.start()
        self.assertNotIn(server.port, (0, 6443))
        answer = await self.client(server).get("/readyz")
        self.assertEqual((answer.code, answer.body), (200, b"ok"))


class RefusedStartTests(ProcessCase):
    """One clear line on standard error, status 1, no traceback (reference DESIGN-21)."""

    async def test_busy_port(self) -> None:
        """A port that is taken is named."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            line = await self.refusal(self.server(f"--secure-port={port}"))
        self.assertIn(str(port), line)

    async def test_missing_file(self) -> None:
        """A file that a flag names and that is not there is named."""
        self.assertIn("no-such-file", await self.refusal(self.server("--token-auth-file=no-such-file")))

    async def test_folder_for_a_file(self) -> None:
        """A folder in a file's place is named."""
        folder = self.mktemp()
        os.mkdir(folder)
        line = await self.refusal(self.server(f"--client-ca-file={os.path.abspath(folder)}"))
        self.assertIn(os.path.basename(folder), line)

    async def test_file_of_nonsense(self) -> None:
        """A certificate file that holds none is named."""
        path = self.mktemp()
        Path(path).write_text("nonsense")
        line = await self.refusal(self.server(f"--client-ca-file={os.path.abspath(path)}"))
        self.assertIn(os.path.basename(path), line)

    async def test_unknown_flag(self) -> None:
        """An unknown flag is named (reference FLAG-2)."""
        self.assertEqual(await self.refusal(self.server("--frobnicate=1")), "Error: unknown flag: --frobnicate")

    async def test_admission(self) -> None:
        """So are an admission plugin that is not there, and what is wrong with plugins' configurations (ADM-5)."""
        line = await self.refusal(self.server("--admission-control=NamespaceLifecycle,Nothing"))
        self.assertEqual(line, 'Error: admission-control plugin "Nothing" is unknown')
        path = os.path.abspath(self.mktemp())
        Path(path).write_text("apiVersion: apiserver.config.orch.io/v1\nkind: AdmissionConfiguration\nplugin: []\n")
        line = await self.refusal(self.server(f"--admission-control-config-file={path}"))
        self.assertEqual(line, f'Error: {path}: unknown field "plugin"')

    async def test_unwritable_data_folder(self) -> None:
        """A file where the data folder should be is named."""
        path = self.mktemp()
        Path(path).write_text("")
        self.assertIn(os.path.basename(path), await self.refusal(self.server(folder=path)))

    async def test_damaged_store(self) -> None:
        """A store that is not a database is named."""
        server = self.server()
        await server.start()
        await server.terminate()
        (store,) = server.data_dir.glob("*.sqlite")
        for companion in server.data_dir.glob("*.sqlite-*"):
            companion.unlink()
        store.write_bytes(b"this is not a database" * 1000)
        self.assertIn(store.name, await self.refusal(server))

    async def test_store_in_use(self) -> None:
        """Two servers cannot share one data folder."""
        server = self.server()
        await server.start()
        line = await self.refusal(self.server(folder=str(server.data_dir)))
        self.assertIn(server.data_dir.name, line)
        self.assertEqual((await self.client(server).get("/readyz")).code, 200)


    async def test_key_of_others(self) -> None:
        """A private key that others can read is named, with what to type."""
        server = self.server()
        await server.start()
        await server.terminate()
        key = server.data_dir / "pki" / "ca.key"
        key.chmod(0o640)
        self.assertTrue((await self.refusal(server)).endswith(f"run: chmod 600 {key}"))

    async def test_planted_store(self) -> None:
        """A link where the store or its lock should be is named, and what it points to stays as it is."""
        for name in ("store.sqlite", "store.sqlite-wal", "store.sqlite.lock"):
            server = self.server()
            server.data_dir.mkdir(mode=0o700)
            victim = server.data_dir.with_name(f"{name}.victim")
            (server.data_dir / name).symlink_to(victim)
            self.assertIn(f"{name}: is a symbolic link, which is not followed", await self.refusal(server))
            self.assertFalse(victim.exists())


class ShutdownTests(ProcessCase):
    async def test_delay(self) -> None:
        """After SIGTERM `/readyz` fails while requests are served; then watches end cleanly (reference OPS-14)."""
        server = self.server("--shutdown-delay-duration=1s")
        await server.start()
        client, context = self.client(server), tls_context(server.kubeconfig)
        watch = await client.watch("/api/v1/namespaces?watch=1")
        await watch.events(4)
        server.signal("TERM")
        ready = await self.until_unready(client)
        self.assertIn(b"[-]shutdown failed: reason withheld\n", ready.body)
        self.assertTrue(ready.body.endswith(b"readyz check failed\n"), ready)
        self.assertEqual((await client.get("/livez")).code, 200)
        fresh = Client(server.port, context)
        self.addCleanup(fresh.close)
        self.assertEqual((await fresh.get("/api/v1/namespaces/default")).code, 200)
        made = await fresh.post("/api/v1/namespaces", {"metadata": {"name": "late"}})
        self.assertEqual(made.code, 201, made)
        self.assertEqual([event["object"]["metadata"]["name"] for event in await watch.rest()], ["late"])
        self.assertEqual(await server.ended(), 0)
        await server.start()
        self.assertEqual((await self.client(server).get("/api/v1/namespaces/late")).json, made.json)

    async def until_unready(self, client: Client) -> Answer:
        """Ask until `/readyz` fails: the signal takes its time to arrive."""
        while (answer := await client.get("/readyz")).code == 200:
            pass
        return answer

    async def test_idle_connections_do_not_hold_it(self) -> None:
        """Without a delay, open idle connections and watches do not keep the process from its end."""
        server = self.server()
        await server.start()
        client = self.client(server)
        watch = await client.watch("/api/v1/namespaces?watch=1")
        await watch.events(4)
        await client.get("/readyz")
        self.assertEqual(await server.terminate(), 0)
        self.assertEqual(await watch.rest(), [])


class HealthTests(ServerCase):
    async def text(self, path: str, code: int = 200) -> list[str]:
        """The lines of a health answer."""
        answer = await self.client.get(path)
        self.assertEqual(answer.code, code, answer)
        self.assertEqual(answer.headers["content-type"], "text/plain; charset=utf-8")
        self.assertEqual(answer.headers["x-content-type-options"], "nosniff")
        return answer.body.decode().splitlines()

    async def test_plain(self) -> None:
        """The three endpoints answer `ok` (reference OPS-2)."""
        for name in ("healthz", "livez", "readyz"):
            self.assertEqual(await self.text(f"/{name}"), ["ok"])

    async def test_verbose(self) -> None:
        """`verbose` lists the checks in the order of registration (reference OPS-3, OPS-7)."""
        common = ["[+]ping ok", "[+]log ok", "[+]etcd ok"]
        ready = ["[+]informer-sync ok"]
        for name, lines in (("livez", common), ("healthz", common), ("readyz", common + ready)):
            shown = await self.text(f"/{name}?verbose")
            self.assertEqual(shown[: len(lines)], lines)
            self.assertEqual(shown[-1], f"{name} check passed")
        self.assertIn("[+]shutdown ok", await self.text("/readyz?verbose"))

    async def test_exclude(self) -> None:
        """An excluded check says so; one that is not there is warned of (reference OPS-5)."""
        lines = await self.text("/livez?verbose&exclude=etcd&exclude=foo")
        self.assertIn("[+]etcd excluded: ok", lines)
        warning = 'warn: some health checks cannot be excluded: no matches for "foo"'
        self.assertEqual(lines[-2:], [warning, "livez check passed"])

    async def test_single(self) -> None:
        """A check answers by itself; an unknown one is a 404."""
        self.assertEqual(await self.text("/readyz/etcd"), ["ok"])
        self.assertEqual((await self.client.get("/readyz/foo")).code, 404)

    async def test_head(self) -> None:
        """HEAD is answered like GET, without the body (reference OPS-1, REQ-14)."""
        answer = await self.client.send("HEAD", "/healthz")
        self.assertEqual((answer.code, answer.body, answer.headers["content-length"]), (200, b"", "2"))

"""The real `orch-store` beside real servers (reference STORE-17 to STORE-21)."""
# covers: orchtw.commands.store.migrate_online

from __future__ import annotations

import json
import os
import sys
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.utils import getProcessOutputAndValue

import orchtw
from orchtw.testing.process import ServerProcess
from tests.end_to_end.client import Client
from tests.end_to_end.test_encryption import SECRETS, WORDS, EncryptionCase, key
from tests.end_to_end.test_start import ProcessCase
from tests.forked import forking
from tests.storage.encryption.key_service import KeyService

MAPS = "/api/v1/namespaces/default/configmaps"
ROOT = str(Path(orchtw.__file__).resolve().parent.parent)


async def orch_store(*arguments: str | os.PathLike[str]) -> tuple[int, str, str]:
    """Exit status, output and errors of the command."""
    environment = {**os.environ, "PYTHONPATH": ROOT}
    words = ["-m", "orchtw.commands.store", *(os.fspath(each) for each in arguments)]
    output, errors, status = await getProcessOutputAndValue(sys.executable, words, environment, reactor=forking)
    return status, output.decode(), errors.decode()


class Writers:
    """Creates, one after the other on each of some connections, until it is stopped."""

    def __init__(self, client: Client, count: int) -> None:
        self.acknowledged: list[str] = []
        self.refused: list[Any] = []
        self._client = client
        self._stopped = False
        self._all = gatherResults([Deferred.fromCoroutine(self._write(f"w{number}")) for number in range(count)])

    async def _write(self, prefix: str) -> None:
        number = 0
        while not self._stopped:
            name = f"{prefix}-{number}"
            answer = await self._client.post(MAPS, {"metadata": {"name": name}, "data": {"k": "v" * 3000}})
            if answer.code == 201:
                self.acknowledged.append(name)
            else:
                self.refused.append(answer)
            number += 1

    async def until(self, count: int) -> None:
        """So many writes have been acknowledged."""
        while len(self.acknowledged) < count and not self.refused:
            await self._client.get("/livez")

    async def stop(self) -> None:
        """Wait until both servers have ended."""
        self._stopped = True
        await self._all


class OnlineTests(ProcessCase):
    timeout = 180

    async def command(self, *arguments: str | os.PathLike[str]) -> str:
        """The output of a command that works."""
        status, output, errors = await orch_store(*arguments)
        self.assertEqual((status, errors), (0, ""))
        return output

    async def test_under_writers(self) -> None:
        """A backup, a check and an export are of one state that has every write acknowledged before; none is refused.

        What is restored, and what is imported, are served as they were (reference STORE-18, STORE-20).
        """
        server = self.server()
        await server.start()
        folder = f"--data-dir={server.data_dir}"
        writers = Writers(self.client(server), 8)
        await writers.until(200)
        before = set(writers.acknowledged)
        backup, lines = Path(self.mktemp()).absolute(), Path(self.mktemp()).absolute()
        await self.command("backup", folder, backup)
        await self.command("export", folder, lines)
        self.assertIn("configmaps", await self.command("check", folder))
        status, _, errors = await orch_store("restore", folder, backup)
        self.assertEqual((status, errors.count("\n")), (1, 1), errors)
        status, _, errors = await orch_store("compact", folder)
        self.assertEqual((status, errors.count("\n")), (1, 1), errors)
        self.assertIn("in use by another process", errors)
        await writers.stop()
        self.assertEqual(writers.refused, [])
        exported = {json.loads(line).get("key", "").rpartition("/")[2] for line in lines.read_text().split("\n")[:-1]}
        self.assertEqual(before - exported, set())
        original = await self.client(server).get(f"{MAPS}/w0-0")
        await server.terminate()
        restored = Path(self.mktemp()).absolute()
        await self.command("restore", f"--data-dir={restored}", backup)
        imported = Path(self.mktemp()).absolute()
        await self.command("import", f"--data-dir={imported}", lines)
        for other in (restored, imported):
            await self.is_served(other, before, original.json)

    async def is_served(self, folder: Path, names: set[str], wanted: Any) -> None:
        """A server on the folder has these ConfigMaps, and one of them as it was."""
        server = self.server(folder=str(folder))
        await server.start()
        client = self.client(server)
        listed = await client.get(MAPS)
        self.assertEqual(names - {item["metadata"]["name"] for item in listed.json["items"]}, set())
        found = (await client.get(f"{MAPS}/w0-0")).json
        for obj in (found, wanted):
            obj["metadata"].pop("resourceVersion")
        self.assertEqual(found, wanted)
        self.assertEqual((await client.post(MAPS, {"metadata": {"name": "new"}})).code, 201)
        await server.terminate()

    async def test_after_kill_9(self) -> None:
        """A store that was killed is backed up, checked and compacted as it is, with all that was acknowledged."""
        server = self.server()
        await server.start()
        folder = f"--data-dir={server.data_dir}"
        writers = Writers(self.client(server), 4)
        await writers.until(50)
        before = set(writers.acknowledged)
        kept = Path(self.mktemp()).absolute()
        await writers.stop()
        await server.kill9()
        await self.command("backup", folder, kept)
        await self.command("check", folder, kept)
        await self.command("compact", folder)
        text = await self.command("export", folder)
        names = {json.loads(line).get("key", "").rpartition("/")[2] for line in text.split("\n")[:-1]}
        self.assertEqual(before - names, set())

    async def test_nothing_there(self) -> None:
        """A folder without a store is one line and status 1 for every command."""
        folder = f"--data-dir={Path(self.mktemp()).absolute()}"
        for words in (("check",), ("backup", "copy"), ("compact",), ("export",), ("migrate",), ("restore", "none")):
            status, output, errors = await orch_store(words[0], folder, *words[1:])
            self.assertEqual((status, output, errors.count("\n")), (1, "", 1), errors)
            self.assertIn("No such file or directory", errors)


class MigrationTests(EncryptionCase):
    async def secrets(self, server: ServerProcess, client: Client, count: int) -> None:
        for number in range(count):
            await self.make(client, f"s{number}")

    async def test_through_a_server(self) -> None:
        """After a change of keys every secret is sealed anew, and nothing else is written (reference STORE-21)."""
        server, client = await self.running()
        await self.secrets(server, client, 3)
        self.assertTrue(self.on_disk())
        await server.terminate()
        flag = self.configuration({"aescbc": {"keys": [key("a")]}}, {"identity": {}})
        server, client = await self.running(flag)
        before = (await client.get("/api/v1/configmaps")).json["items"]
        count = len((await client.get("/api/v1/secrets")).json["items"])
        status, output, errors = await orch_store("migrate", f"--kubeconfig={server.kubeconfig}")
        self.assertEqual((status, errors), (0, ""))
        self.assertIn(f" {count} of them rewritten", output)
        self.assertEqual((await client.get("/api/v1/configmaps")).json["items"], before)
        status, output, _ = await orch_store("migrate", f"--kubeconfig={server.kubeconfig}")
        self.assertIn(" 0 of them rewritten", output)
        self.assertEqual((await client.get(f"{SECRETS}/s0")).code, 200)
        await server.terminate()
        status, output, errors = await orch_store("compact", f"--data-dir={server.data_dir}")
        self.assertEqual((status, errors), (0, ""))
        self.assertFalse(self.on_disk())

    async def test_no_server(self) -> None:
        """A kubeconfig that is missing, or whose server does not answer, is one line."""
        server, _ = await self.running()
        kubeconfig = server.kubeconfig
        await server.terminate()
        for path in (kubeconfig, Path("none")):
            status, output, errors = await orch_store("migrate", f"--kubeconfig={path}")
            self.assertEqual((status, output, errors.count("\n")), (1, "", 1), errors)


class KeyServiceTests(EncryptionCase):
    """With a key management service on a socket."""

    async def test_there_and_back(self) -> None:
        """Check, export, import and migrate ask it for keys; without it what it sealed is named."""
        folder = tempfile.TemporaryDirectory()  # a socket's path must be short
        self.addCleanup(folder.cleanup)
        service = KeyService(f"unix:{folder.name}/kms.sock")
        self.addCleanup(lambda: service.stop())
        plugin = {"name": "k", "endpoint": f"unix://{folder.name}/kms.sock", "timeout": "1s"}
        flag = self.configuration({"kms": plugin}, {"identity": {}})
        server, client = await self.running(flag)
        await self.make(client, "a")
        await server.terminate()
        lines, other = Path(self.mktemp()).absolute(), Path(self.mktemp()).absolute()
        here = f"--data-dir={server.data_dir}"
        for words in (
            ("check", here, flag),
            ("export", here, flag, lines),
            ("import", f"--data-dir={other}", flag, lines),
            ("migrate", here, flag),
        ):
            status, _, errors = await orch_store(*words)
            self.assertEqual((status, errors), (0, ""), words)
        self.folder = str(other)
        self.assertFalse(self.on_disk())
        server, client = await self.running(flag)
        self.assertEqual(await self.words(client, "a"), b64encode(WORDS.encode()).decode())
        await server.terminate()
        service.stop()
        status, _, errors = await orch_store("export", f"--data-dir={other}", flag, Path(self.mktemp()))
        self.assertEqual(status, 1)
        self.assertIn("orch-store: /registry/secrets/default/a at ", errors)


class StorageVersionTests(ProcessCase):
    timeout = 180

    async def test_one_server_after_another(self) -> None:
        """A server's StorageVersions are removed after its Lease (reference VER-19, CTRL-41)."""
        folder = self.mktemp()
        flags = (
            "--feature-gates=APIServerIdentity=true,StorageVersionAPI=true",
            "--runtime-config=internal.apiserver.orch.io/v1alpha1=true",
            "--identity-lease-duration-seconds=2",
            "--identity-lease-renew-interval-seconds=1",
        )
        path = "/apis/internal.apiserver.orch.io/v1alpha1/storageversions/core.pods"
        seen = set()
        for _ in range(2):
            server = self.server(*flags, folder=folder)
            await server.start()
            client = self.client(server)
            while True:
                said = (await client.get(path)).json["status"]["storageVersions"]
                if len(said) == 1 and said[0]["apiServerID"] not in seen:
                    break
            seen.add(said[0]["apiServerID"])
            await server.kill9()
        self.assertEqual(len(seen), 2)

"""Encryption at rest with a real server: what lies on the disk, rotation, lost keys, a key service (STORE-14)."""
# covers: orchtw.assembly.encryption

from __future__ import annotations

import json
import os
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Any

from orchtw.testing.process import ServerProcess
from orchtw.testing.start_failed import StartFailed
from tests.end_to_end.client import Client
from tests.end_to_end.test_start import ProcessCase
from tests.storage.encryption.key_service import KeyService

SECRETS = "/api/v1/namespaces/default/secrets"
MAPS = "/api/v1/namespaces/default/configmaps"
WORDS = "nobody may read these words"


def key(name: str, size: int = 32) -> Any:
    return {"name": name, "secret": b64encode(os.urandom(size)).decode()}


class EncryptionCase(ProcessCase):
    """Servers over one data folder, with files of providers of their own."""

    timeout = 120

    def setUp(self) -> None:
        self.folder = self.mktemp()

    def configuration(self, *providers: Any, resources: tuple[str, ...] = ("secrets",)) -> str:
        path = Path(self.mktemp()).absolute()
        given = {
            "apiVersion": "apiserver.config.orch.io/v1",
            "kind": "EncryptionConfiguration",
            "resources": [{"resources": [*resources], "providers": [*providers]}],
        }
        path.write_text(json.dumps(given))
        path.chmod(0o600)
        return f"--encryption-provider-config={path}"

    async def running(self, *flags: str) -> tuple[ServerProcess, Client]:
        server = self.server(*flags, folder=self.folder)
        await server.start()
        return server, self.client(server)

    def on_disk(self, words: str = WORDS) -> bool:
        encoded = (words.encode(), b64encode(words.encode()))
        files = [path.read_bytes() for path in Path(self.folder).rglob("store.sqlite*")]
        return any(each in content for content in files for each in encoded)

    async def make(self, client: Client, name: str) -> None:
        answer = await client.post(SECRETS, {"metadata": {"name": name}, "stringData": {"words": WORDS}})
        self.assertEqual(answer.code, 201, answer)

    async def words(self, client: Client, name: str) -> str:
        answer = await client.get(f"{SECRETS}/{name}")
        self.assertEqual(answer.code, 200, answer)
        return str(answer.json["data"]["words"])


class ProviderTests(EncryptionCase):
    async def test_life(self) -> None:
        """Written, watched, killed and started again: clients see nothing of it, the disk nothing else."""
        for provider in ("aescbc", "aesgcm", "secretbox"):
            self.folder = self.mktemp()
            flag = self.configuration({provider: {"keys": [key("a")]}}, {"identity": {}})
            server, client = await self.running(flag)
            since = (await client.get(SECRETS)).version
            watch = await client.watch(f"{SECRETS}?watch=1&fieldSelector=metadata.name%3Da&resourceVersion={since}")
            await self.make(client, "a")
            event = await watch.event()
            self.assertEqual(event["object"]["data"]["words"], b64encode(WORDS.encode()).decode())
            self.assertEqual((await client.merge(f"{SECRETS}/a", {"metadata": {"labels": {"a": "b"}}})).code, 200)
            self.assertEqual(await server.kill9(), -9)
            self.assertFalse(self.on_disk())
            server, client = await self.running(flag)
            self.assertEqual(await self.words(client, "a"), b64encode(WORDS.encode()).decode())
            old = (await client.get(f"{SECRETS}?resourceVersion={event['object']['metadata']['resourceVersion']}"
                                    "&resourceVersionMatch=Exact")).json["items"]  # fmt: skip
            self.assertNotIn("labels", next(each["metadata"] for each in old if each["metadata"]["name"] == "a"))
            await server.terminate()

    async def test_rotation(self) -> None:
        """Plain values, and values under an old key, are sealed anew by an empty update."""
        server, client = await self.running()
        await self.make(client, "a")
        await server.terminate()
        first, second = {"aescbc": {"keys": [key("one")]}}, {"aesgcm": {"keys": [key("two")]}}
        for providers in ([first, {"identity": {}}], [second, first]):
            server, client = await self.running(self.configuration(*providers))
            for obj in (await client.get(SECRETS)).json["items"]:
                answer = await client.put(f"{SECRETS}/{obj['metadata']['name']}", obj)
                self.assertEqual(answer.code, 200, answer)
                self.assertNotEqual(answer.version, obj["metadata"]["resourceVersion"])
                again = await client.put(f"{SECRETS}/{obj['metadata']['name']}", answer.json)
                self.assertEqual(again.version, answer.version)
            await server.terminate()
        server, client = await self.running(self.configuration(second))
        self.assertEqual(await self.words(client, "a"), b64encode(WORDS.encode()).decode())

    async def test_plain_text_goes(self) -> None:
        """After the last plain value has been sealed, none is left in the file, deleted ones included (STORE-37)."""
        server, client = await self.running()
        words = {name: f"{name} {WORDS} " * 400 for name in ("kept", "changed", "deleted")}
        for name, text in words.items():
            answer = await client.post(SECRETS, {"metadata": {"name": name}, "stringData": {"words": text}})
            self.assertEqual(answer.code, 201, answer)
        await client.delete(f"{SECRETS}/deleted")
        await client.merge(f"{SECRETS}/changed", {"stringData": {"words": "other"}})
        await server.terminate()
        self.assertTrue(all(self.on_disk(text[:60]) for text in words.values()))
        server, client = await self.running(self.configuration({"aesgcm": {"keys": [key("one")]}}, {"identity": {}}))
        for obj in (await client.get("/api/v1/secrets")).json["items"]:
            path = f"/api/v1/namespaces/{obj['metadata']['namespace']}/secrets/{obj['metadata']['name']}"
            self.assertEqual((await client.put(path, obj)).code, 200)
        while "encryption: every value is stored" not in server.log:
            await client.get("/readyz")
        self.assertEqual(await server.terminate(), 0)
        self.assertEqual([name for name, text in words.items() if self.on_disk(text[:60])], [])

    async def test_lost_key(self) -> None:
        """Without the key: a 500 that says so for reads, writes and deletes, nothing is lost, all else is served."""
        flag = self.configuration({"secretbox": {"keys": [key("a")]}})
        server, client = await self.running(flag)
        await self.make(client, "a")
        self.assertEqual((await client.post(MAPS, {"metadata": {"name": "m"}})).code, 201)
        await server.terminate()
        other = self.configuration({"secretbox": {"keys": [key("b")]}}, {"identity": {}})
        for flags, why in (
            ((), "identity transformer tried to read encrypted data"),
            ((other,), "no matching key was found for the provided Secretbox transformer"),
        ):
            server, client = await self.running(*flags)
            text = f'Internal error occurred: unable to transform key "/registry/secrets/default/a": {why}'
            obj = {"metadata": {"name": "a"}, "data": {}}
            for answer in (
                await client.get(f"{SECRETS}/a"),
                await client.put(f"{SECRETS}/a", obj),
                await client.merge(f"{SECRETS}/a", obj),
                await client.delete(f"{SECRETS}/a"),
                await client.get(SECRETS),
                await client.get("/api/v1/secrets?watch=1"),
                await client.delete(SECRETS),
            ):
                self.assertEqual((answer.code, answer.json["message"]), (500, text), answer)
            self.assertEqual((await client.post(SECRETS, obj)).code, 409)
            self.assertEqual((await client.get("/api/v1/namespaces/kube-system/secrets")).code, 200)
            self.assertEqual((await client.get(f"{MAPS}/m")).code, 200)
            self.assertIn("cannot be read for now", server.log)
            await server.terminate()
        server, client = await self.running(flag)
        self.assertEqual(await self.words(client, "a"), b64encode(WORDS.encode()).decode())

    async def test_custom_resources(self) -> None:
        """Resources of groups, also those that definitions bring, are named with their group."""
        group = "encryption.example.com"
        schema = {"type": "object", "x-orch-preserve-unknown-fields": True}
        definition = {
            "metadata": {"name": f"widgets.{group}"},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
            },
        }
        flag = self.configuration({"aesgcm": {"keys": [key("a")]}}, resources=(f"widgets.{group}", "leases.orch.io"))
        server, client = await self.running(flag)
        await client.post("/apis/apiextensions.orch.io/v1/customresourcedefinitions", definition)
        path = f"/apis/{group}/v1/namespaces/default/widgets"
        while (await client.get(path)).code != 200:
            pass
        self.assertEqual((await client.post(path, self.widget(group))).code, 201)
        self.assertEqual(await server.kill9(), -9)
        self.assertFalse(self.on_disk())
        server, client = await self.running(flag)
        self.assertEqual((await client.get(f"{path}/a")).json["words"], WORDS)

    def widget(self, group: str) -> Any:
        return {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "a"}, "words": WORDS}

    async def test_other_vocabulary(self) -> None:
        """A store is rewritten for the other vocabulary with its keys, and refused without them, untouched."""
        flag = self.configuration({"aesgcm": {"keys": [key("a")]}})
        server, client = await self.running(flag)
        await self.make(client, "a")
        await server.terminate()
        line = await self.refused(self.server("--vocabulary=kubernetes", folder=self.folder))
        self.assertIn("cannot be read, so the store cannot be rewritten", line)
        server, client = await self.running("--vocabulary=kubernetes", flag)
        self.assertEqual(await self.words(client, "a"), b64encode(WORDS.encode()).decode())
        self.assertFalse(self.on_disk())

    async def refused(self, server: ServerProcess) -> str:
        try:
            await server.start()
        except StartFailed as failed:
            return failed.errors
        self.fail("it started")

    async def test_wrong_file(self) -> None:
        """A file that is wrong ends the start with one line."""
        line = await self.refusal(self.server(self.configuration(), folder=self.folder))
        self.assertIn("resources[0].providers: at least one providers is required", line)


class KeyServiceTests(EncryptionCase):
    """With a key management service on a socket."""

    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()  # a socket's path must be short
        self.addCleanup(folder.cleanup)
        self.address = f"{folder.name}/kms.sock"
        self.service = KeyService(f"unix:{self.address}")
        self.addCleanup(lambda: self.service.stop())

    async def test_life(self) -> None:
        """Each write has a key of its own; a restart reads all; a service that is away is a 500 for its resources."""
        plugin = {"name": "k", "endpoint": f"unix://{self.address}", "timeout": "1s"}
        flag = self.configuration({"kms": plugin})
        server, client = await self.running(flag)
        for name in ("a", "b", "c"):
            await self.make(client, name)
        self.assertEqual((await client.get("/readyz/kms-provider-0")).code, 200)
        self.assertEqual(await server.kill9(), -9)
        self.assertFalse(self.on_disk())
        server, client = await self.running(flag)
        self.assertEqual(await self.words(client, "b"), b64encode(WORDS.encode()).decode())
        self.service.broken = "sealed away"
        answer = await client.post(SECRETS, {"metadata": {"name": "d"}})
        self.assertEqual(answer.code, 500, answer)
        self.assertIn("sealed away", answer.json["message"])
        self.assertEqual(await self.words(client, "a"), b64encode(WORDS.encode()).decode())
        self.assertEqual((await client.post(MAPS, {"metadata": {"name": "m"}})).code, 201)
        self.service.broken = ""
        await self.make(client, "d")

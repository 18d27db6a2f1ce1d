"""The example package, installed as a user would and used by a real server (reference EXT-1 to EXT-7)."""

from __future__ import annotations

import hmac
import json
import os
import shutil
import subprocess
import sys
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.task import deferLater
from twisted.internet.utils import getProcessOutput, getProcessOutputAndValue

from orchtw.testing.process import TWISTD, ServerProcess, environment
from tests.end_to_end.client import Client, tls_context
from tests.end_to_end.test_start import ProcessCase

reactor: Any = installed_reactor

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plugins"
MAPS = "/api/v1/namespaces/default/configmaps"
ALL = (
    "--enable-admission-plugins=CreatedBy",
    "--authorization-mode=Node,RBAC,ReadersRead",
    "--controllers=*,greeter",
)


@cache
def installed() -> Path:
    """The folder in which pip has put the package, once for all tests of a process."""
    folder = Path("example-plugins").absolute()
    source, target = folder / "source", folder / "packages"
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__", "_trial_temp*"))
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    command = (sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(source))
    subprocess.run(command, check=True, capture_output=True)
    return target


class PluginCase(ProcessCase):
    """Servers that find the example package."""

    timeout = 120

    def setUp(self) -> None:
        self.packages = installed()

    def started_with(self, *flags: str) -> ServerProcess:
        server = ServerProcess(reactor, self.mktemp(), *flags, python_path=[self.packages])
        self.addCleanup(server.kill9)
        return server

    def file(self, name: str, content: bytes) -> Path:
        path = Path(self.mktemp()).absolute()
        path.mkdir(mode=0o700)
        (path / name).write_bytes(content)
        (path / name).chmod(0o600)
        return path / name


class EveryPluginTests(PluginCase):
    """A server with all of them."""

    async def test_every_kind(self) -> None:
        """A plugin of each kind does its work (reference EXT-5 to EXT-7)."""
        key = os.urandom(32)
        stores = Path(self.mktemp()).absolute()
        stores.mkdir()
        provider = {"chacha": {"name": "a", "secret": b64encode(os.urandom(32)).decode()}}
        configuration = {
            "apiVersion": "apiserver.config.orch.io/v1",
            "kind": "EncryptionConfiguration",
            "resources": [{"resources": ["secrets"], "providers": [provider]}],
        }
        server = self.started_with(
            *ALL,
            "--storage-backend=volatile",
            f"--volatile-storage-dir={stores}",
            f"--signed-names-key-file={self.file('key', key)}",
            f"--encryption-provider-config={self.file('providers.json', json.dumps(configuration).encode())}",
        )
        await server.start()
        client = self.client(server)
        await self.creators(client)
        await self.users(server, key)
        await self.greeting(client)
        await self.sealed(client, stores)
        self.assertIn("Found plugin CreatedBy of orchtw.admission (orchtw-examples 1.0)", server.log)
        self.assertEqual(await server.terminate(), 0, server.errors)

    async def test_workers(self) -> None:
        """Every process of a server has the plugins (reference EXT-1)."""
        server = self.started_with("--enable-admission-plugins=CreatedBy", "--workers=2")
        await server.start()
        for _ in range(8):
            answer = await self.client(server).post(MAPS, {"metadata": {"generateName": "mine-"}})
            self.assertIn("example.com/created-by", answer.json["metadata"]["annotations"])

    async def creators(self, client: Client) -> None:
        answer = await client.post(MAPS, {"metadata": {"name": "mine"}})
        self.assertEqual(list(answer.json["metadata"]["annotations"]), ["example.com/created-by"])
        answer = await client.put(f"{MAPS}/mine", {"metadata": {"name": "mine"}})
        self.assertEqual(answer.code, 403, answer)

    async def users(self, server: ServerProcess, key: bytes) -> None:
        token = f"ann.{hmac.digest(key, b'ann', 'sha256').hex()}"
        context = tls_context(server.kubeconfig, certificate=False)
        for shown, code in ((token, 403), (f"{token[:-1]}{(int(token[-1], 16) + 1) % 16:x}", 401)):
            client = Client(server.port, context, {"Authorization": f"Bearer {shown}"})
            self.addCleanup(client.close)
            answer = await client.get(MAPS)
            self.assertEqual(answer.code, code, answer)
        for group, code in (("readers", 200), ("writers", 403)):
            as_group = {"Impersonate-User": "bob", "Impersonate-Group": group}
            answer = await self.client(server).send("GET", MAPS, headers=as_group)
            self.assertEqual(answer.code, code, answer)

    async def greeting(self, client: Client) -> None:
        while (answer := await client.get(f"{MAPS}/hello")).code != 200:
            await deferLater(reactor, 0.05)
        self.assertEqual(answer.json["data"], {"text": "hello, default"})

    async def sealed(self, client: Client, stores: Path) -> None:
        path = "/api/v1/namespaces/default/secrets"
        await client.post(path, {"metadata": {"name": "a"}, "stringData": {"word": "plain words"}})
        answer = await client.get(f"{path}/a")
        self.assertEqual(answer.json["data"]["word"], b64encode(b"plain words").decode())
        stored = b"".join(file.read_bytes() for file in stores.rglob("store.sqlite*"))
        self.assertIn(b":enc:chacha:v1:a:", stored)
        self.assertNotIn(b64encode(b"plain words"), stored)


class RefusedStartTests(PluginCase):
    async def test_wrong_settings(self) -> None:
        """An error of a plugin's factory ends the start with its line (reference EXT-3)."""
        key = self.file("key", b"short")
        server = self.started_with(f"--signed-names-key-file={key}")
        self.assertEqual(
            await self.refusal(server), f"Error: --signed-names-key-file: {key}: must hold at least 32 bytes"
        )

    async def test_broken_package(self) -> None:
        """A package whose module cannot be imported ends the start with one line (reference EXT-3)."""
        broken = Path(self.mktemp()).absolute()
        shutil.copytree(self.packages, broken)
        (broken / "orchtw_examples" / "storage.py").write_text("raise RuntimeError('no disk')\n")
        server = ServerProcess(reactor, self.mktemp(), python_path=[broken])
        self.addCleanup(server.kill9)
        self.assertEqual(
            await self.refusal(server),
            "Error: plugin volatile of orchtw.storage (orchtw-examples 1.0): cannot be loaded: RuntimeError: no disk",
        )

    async def test_help(self) -> None:
        """`--help` shows plugins' flags, and their names as choices (reference EXT-4)."""
        command = (*TWISTD, "orch-apiserver", "--help")
        shown = await getProcessOutput(command[0], command[1:], env=environment([self.packages]))
        text = shown.decode()
        self.assertIn("--created-by-resources strings", text)
        self.assertIn("volatile", text)
        self.assertIn("ReadersRead", text)


class ExampleTests(PluginCase):
    def test_handbook(self) -> None:
        """The handbook shows the package's own entry points."""
        page = (EXAMPLE.parents[1] / "docs" / "extending.md").read_text()
        shown = page.partition("<!-- example: entry-points -->\n```toml\n")[2].partition("```")[0]
        self.assertIn(shown, (EXAMPLE / "pyproject.toml").read_text())

    async def test_own_tests(self) -> None:
        """The example package's own tests pass."""
        folder = Path(self.mktemp()).absolute()
        shutil.copytree(EXAMPLE / "tests", folder / "tests")
        command = ("-m", "twisted.trial", "tests")
        output, errors, status = await getProcessOutputAndValue(
            sys.executable, command, env=environment([folder, self.packages]), path=str(folder)
        )
        self.assertEqual(status, 0, (output + errors).decode())

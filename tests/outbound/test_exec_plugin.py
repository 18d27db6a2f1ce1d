"""Credentials that commands print (reference CLIENT-10, CLIENT-11): small scripts, really run."""
# covers: orchtw.outbound.command

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import CancelledError, Deferred, gatherResults
from twisted.trial.unittest import SynchronousTestCase, TestCase

from orchtw.naming.naming import Naming
from orchtw.outbound import command
from orchtw.outbound.caller import Caller, CallFailed
from orchtw.outbound.command import Command, CommandFailed
from orchtw.outbound.credentials import CredentialsError, ShownHeaders
from orchtw.outbound.exec_plugin import CredentialPlugin, ExecPlugin, credential
from orchtw.outbound.kubeconfig import load
from orchtw.outbound.remote import Remote
from orchtw.outbound.services import Resolver, ServiceReference
from orchtw.testing.webhook import Reply, WebhookRequest, WebhookServer
from tests.outbound.doubles import Cluster
from tests.outbound.test_kubeconfig import CERTIFICATE, KEY_PEM

reactor: Any = installed_reactor

V1 = "client.authentication.orch.io/v1"


def printed(status: Any, **more: Any) -> bytes:
    """Return a plugin's output with a status."""
    return json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status, **more}).encode()


class CredentialTests(SynchronousTestCase):
    """Credentials in a plugin's output."""

    def test_good(self) -> None:
        """A token, a certificate with its key, or both, and until when."""
        shown, expires_s = credential(printed({"token": "t", "expirationTimestamp": "1970-01-01T00:01:00Z"}), V1)
        self.assertEqual((shown.headers, expires_s), ((("Authorization", "Bearer t"),), 60))
        pair = {"clientCertificateData": CERTIFICATE.decode(), "clientKeyData": KEY_PEM.decode()}
        shown, expires_s = credential(printed(pair), V1)
        self.assertEqual((shown, expires_s), (ShownHeaders(certificate=CERTIFICATE, key=KEY_PEM), None))

    def test_bad(self) -> None:
        """Each failure has its words."""
        version = f"exec plugin is configured to use API version {V1}, plugin returned version"
        for output, text in (
            (b"x", "decoding stdout: "),
            (b"[]", "decoding stdout: not an ExecCredential"),
            (printed({}, apiVersion="v2"), f"{version} v2"),
            (printed(None), "exec plugin didn't return a status field"),
            (printed({}), "exec plugin didn't return a token or cert/key pair"),
            (printed({"token": 1}), "decoding stdout: token is not a string"),
            (printed({"clientKeyData": "x"}), "exec plugin returned only certificate or key, not both"),
            (
                printed({"clientCertificateData": "x", "clientKeyData": "x"}),
                "failed parsing client key/certificate: ",
            ),
            (
                printed({"token": "t", "expirationTimestamp": "soon"}),
                "decoding stdout: expirationTimestamp: soon is not an RFC 3339 time",
            ),
        ):
            with self.assertRaises(CredentialsError) as raised:
                credential(output, V1)
            self.assertTrue(str(raised.exception).startswith(text), str(raised.exception))


class ExecPluginTests(TestCase):
    """A script that counts its runs and prints its environment's wish."""

    def setUp(self) -> None:
        self.folder = Path(self.mktemp()).absolute()
        self.folder.mkdir()
        self.now_s = datetime(2026, 1, 1, tzinfo=UTC).timestamp()

    def plugin(self, body: str, vocabulary: str = "orch", **more: Any) -> ExecPlugin:
        """One whose script has `body`; `n` is the number of the run."""
        script = self.folder / "plugin.py"
        script.write_text(
            f"#!{sys.executable}\n"
            "import json, os, sys, time\n"
            f"runs = {str(self.folder / 'runs')!r}\n"
            "open(runs, 'a').write('x')\n"
            "n = os.path.getsize(runs)\n"
            "def say(**status):\n"
            f"    print(json.dumps(dict(apiVersion={V1!r}, kind='ExecCredential', status=status)))\n" + body
        )
        script.chmod(0o700)
        made = CredentialPlugin(api_version=V1, command=str(script), **more)
        return ExecPlugin(made, Naming.of(vocabulary), reactor, lambda: self.now_s)

    @property
    def runs(self) -> int:
        return len((self.folder / "runs").read_text())

    def token(self, shown: ShownHeaders) -> str:
        return dict(shown.headers)["Authorization"].removeprefix("Bearer ")

    async def test_kept(self) -> None:
        """Credentials are kept until they expire; then there is another run."""
        plugin = self.plugin("say(token=f't{n}', expirationTimestamp='2026-01-01T00:01:00Z')")
        self.assertEqual(self.token(await plugin.current()), "t1")
        self.assertEqual(self.token(await plugin.current()), "t1")
        self.now_s += 61
        self.assertEqual(self.token(await plugin.current()), "t2")

    async def test_without_time(self) -> None:
        """Credentials without a time are kept for as long as the server runs."""
        plugin = self.plugin("say(token=f't{n}')")
        await plugin.current()
        self.now_s += 10 * 365 * 24 * 3600
        self.assertEqual((self.token(await plugin.current()), self.runs), ("t1", 1))

    async def test_to_the_second(self) -> None:
        """They are good up to their time, and what has expired already is asked for anew each time."""
        plugin = self.plugin("say(token=f't{n}', expirationTimestamp='2026-01-01T00:01:00Z')")
        await plugin.current()
        self.now_s += 60
        self.assertEqual(self.token(await plugin.current()), "t1")
        self.now_s += 1
        self.assertEqual([self.token(await plugin.current()) for _ in range(2)], ["t2", "t3"])

    async def test_refused(self) -> None:
        """After a 401 there is another run, but one only for those who showed the same."""
        plugin = self.plugin("say(token=f't{n}')")
        first = await plugin.current()
        self.assertTrue(plugin.refused(first))
        second = await plugin.current()
        self.assertTrue(plugin.refused(first))
        self.assertEqual((await plugin.current(), self.token(second), self.runs), (second, "t2", 2))

    async def test_shared(self) -> None:
        """Concurrent callers in need of credentials share a run (reference CLIENT-15)."""
        plugin = self.plugin("say(token='t')")
        await gatherResults([Deferred.fromCoroutine(plugin.current()) for _ in range(3)])
        self.assertEqual(self.runs, 1)

    async def test_environment(self) -> None:
        """The plugin gets its arguments and environment, and an empty input that is not a terminal."""
        body = "say(token=repr((sys.argv[1:], os.environ['A'], os.environ[{0!r}], sys.stdin.read())))"
        for vocabulary, name in (("orch", "ORCH_EXEC_INFO"), ("kubernetes", "KUBERNETES_EXEC_INFO")):
            plugin = self.plugin(
                body.format(name), vocabulary, args=("x",), env={"A": "b"}, cluster={"server": "https://s"}
            )
            args, value, info, stdin = eval(self.token(await plugin.current()))
            self.assertEqual((args, value, stdin), (["x"], "b", ""))
            spec = {"cluster": {"server": "https://s"}, "interactive": False}
            self.assertEqual(json.loads(info), {"kind": "ExecCredential", "apiVersion": V1, "spec": spec})

    async def trouble(self, plugin: ExecPlugin) -> str:
        with self.assertRaises(CredentialsError) as raised:
            await plugin.current()
        return str(raised.exception)

    async def test_failures(self) -> None:
        """A failed run is reported, and the next request runs the plugin again."""
        plugin = self.plugin("sys.stderr.write('no way'); sys.exit(3)")
        path = f"{self.folder}/plugin.py"
        for _ in range(2):
            self.assertEqual(
                await self.trouble(plugin), f"getting credentials: exec: executable {path} failed with exit code 3"
            )
        (self.folder / "plugin.py").unlink()
        self.assertEqual(await self.trouble(plugin), f"getting credentials: exec: executable {path} not found")
        self.assertEqual(await self.trouble(plugin), f"getting credentials: exec: executable {path} not found")
        hinted = self.plugin("", install_hint="apt install it")
        (self.folder / "plugin.py").unlink()
        self.assertTrue((await self.trouble(hinted)).endswith("not found: apt install it"))

    async def test_too_much(self) -> None:
        """A plugin that prints without end is ended."""
        self.patch(command, "OUTPUT_BYTES", 1000)
        plugin = self.plugin("while True: print('x' * 1000)")
        self.assertIn("has printed more than 1000 bytes", await self.trouble(plugin))

    async def test_late(self) -> None:
        """A plugin that does not end in time is ended."""
        script = self.folder / "slow"
        script.write_text("#!/bin/sh\nexec sleep 600\n")
        script.chmod(0o700)
        with self.assertRaises(CommandFailed) as raised:
            await command.run(reactor, Command(name=str(script)), time_s=0.3)
        self.assertEqual(str(raised.exception), f"exec: executable {script} has not ended in 0.3 s")

    async def test_left(self) -> None:
        """A run whose callers have all left goes on, and later callers get its result."""
        go = self.folder / "go"
        plugin = self.plugin(f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\nsay(token='t')")
        waiting = Deferred.fromCoroutine(plugin.current())
        while not (self.folder / "runs").exists():
            tick: Deferred[None] = Deferred()
            reactor.callLater(0.01, tick.callback, None)
            await tick
        waiting.cancel()
        with self.assertRaises(CancelledError):
            await waiting
        later = Deferred.fromCoroutine(plugin.current())
        go.touch()
        self.assertEqual((self.token(await later), self.runs), ("t", 1))

    async def test_end_of_the_server(self) -> None:
        """A command does not outlive the server; afterwards nothing of it is left in the reactor."""

        class Ending:
            """The reactor, whose end the test chooses."""

            def __init__(self) -> None:
                self.triggers: dict[int, Any] = {}

            def __getattr__(self, name: str) -> Any:
                return getattr(reactor, name)

            def addSystemEventTrigger(self, _phase: str, _event: str, call: Any) -> int:
                self.triggers[1] = call
                return 1

            def removeSystemEventTrigger(self, trigger: int) -> None:
                del self.triggers[trigger]

        script = self.folder / "slow"
        script.write_text("#!/bin/sh\nexec sleep 600\n")
        script.chmod(0o700)
        ending = Ending()
        running = Deferred.fromCoroutine(command.run(ending, Command(name=str(script))))
        ending.triggers[1]()
        with self.assertRaises(CommandFailed) as raised:
            await running
        self.assertEqual(str(raised.exception), f"exec: executable {script} was ended by signal 9")
        self.assertEqual(ending.triggers, {})


class PluginAtWorkTests(TestCase):
    """A configuration file with a plugin beside it, and a server that has the last word."""

    def setUp(self) -> None:
        self.folder = Path(self.mktemp()).absolute()
        (self.folder / "bin").mkdir(parents=True)
        resolver = Resolver(Cluster(), ServiceReference(namespace="default", name="orch"), Random(1))
        self.caller = Caller(reactor, resolver, "orch-apiserver/v1.24.0")
        self.addCleanup(self.caller.stopService)
        self.good: set[str] = set()
        self.server = WebhookServer(reactor, self.answer)
        self.addCleanup(self.server.stop)

    def answer(self, asked: WebhookRequest) -> Any:
        """Return the server's answer to credentials: 401 unless they are good."""
        return {"ok": True} if asked.headers.get("authorization", "") in self.good else Reply(code=401)

    def remote(self, body: str, version: str = V1, **more: Any) -> Remote:
        """By a file whose plugin does `body`."""
        script = self.folder / "bin" / "plugin"
        script.write_text(f"#!{sys.executable}\nimport json, os, sys\n{body}")
        script.chmod(0o700)
        cluster = {"server": self.server.url, "certificate-authority-data": self.server.ca_bundle}
        section = {"apiVersion": version, "command": "bin/plugin", "interactiveMode": "IfAvailable", **more}
        document = {
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"exec": section}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        }
        path = self.folder / "config.yaml"
        path.write_text(json.dumps(document))
        return load(path, Naming.orch(), reactor)

    async def test_refreshed(self) -> None:
        """The server's 401 has the plugin run once more, and the call succeeds with what it says then (CLIENT-11)."""
        body = (
            "runs = os.environ['RUNS']\nopen(runs, 'a').write('x')\n"
            "info = json.loads(os.environ['ORCH_EXEC_INFO'])\n"
            "info['status'] = {'token': sys.argv[1] + str(os.path.getsize(runs))}\n"
            "print(json.dumps(info))\n"
        )
        env = [{"name": "RUNS", "value": str(self.folder / "runs")}]
        remote = self.remote(body, args=["t"], env=env)
        self.good = {"Bearer t1"}
        for _ in range(2):
            await self.caller.post(remote, b"{}", timeout_s=30)
        self.good = {"Bearer t2"}
        await self.caller.post(remote, b"{}", timeout_s=30)
        shown = [asked.headers["authorization"] for asked in self.server.asked]
        self.assertEqual(shown, ["Bearer t1", "Bearer t1", "Bearer t1", "Bearer t2"])
        self.good = set()
        with self.assertRaises(CallFailed):
            await self.caller.post(remote, b"{}", timeout_s=30)
        self.assertEqual((self.folder / "runs").read_text(), "xxx")

    async def test_told(self) -> None:
        """The plugin is told of the server, if it is to be, in the version that it must answer in (CLIENT-10)."""
        beta = "client.authentication.orch.io/v1beta1"
        body = (
            "info = json.loads(os.environ['ORCH_EXEC_INFO'])\n"
            "cluster = info['spec']['cluster']\n"
            "good = info['spec']['interactive'] is False and not sys.stdin.isatty()\n"
            "token = cluster['server'] if good and cluster['certificate-authority-data'] else ''\n"
            "print(json.dumps({**info, 'status': {'token': token}}))\n"
        )
        self.good = {f"Bearer {self.server.url}"}
        await self.caller.post(self.remote(body, beta, provideClusterInfo=True), b"{}", timeout_s=30)
        self.assertEqual(len(self.server.asked), 1)

    async def test_other_version(self) -> None:
        """A credential in another API version is refused, and nothing is sent (CLIENT-11)."""
        other = {"apiVersion": V1, "kind": "ExecCredential", "status": {"token": "t"}}
        beta = "client.authentication.orch.io/v1beta1"
        with self.assertRaises(CallFailed) as raised:
            await self.caller.post(self.remote(f"print({json.dumps(other)!r})", beta), b"{}", timeout_s=30)
        why = f"exec plugin is configured to use API version {beta}, plugin returned version {V1}"
        self.assertEqual(raised.exception.why, f"getting credentials: {why}")
        self.assertEqual(self.server.asked, [])

    async def test_hint(self) -> None:
        """Where the command is missing, the file's author says how to get it (CLIENT-11)."""
        remote = self.remote("", command="no-such-plugin-anywhere", installHint="get it at example.com")
        with self.assertRaises(CallFailed) as raised:
            await self.caller.post(remote, b"{}", timeout_s=30)
        why = "exec: executable no-such-plugin-anywhere not found: get it at example.com"
        self.assertEqual(raised.exception.why, f"getting credentials: {why}")

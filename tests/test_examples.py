"""Examples of the handbook that are more than an import, run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import yaml
from twisted.internet import reactor as installed_reactor
from twisted.internet.utils import getProcessOutputAndValue
from twisted.trial.unittest import SynchronousTestCase, TestCase
from twisted.web.client import Agent, HTTPConnectionPool, readBody
from twisted.web.http_headers import Headers

from orchtw.admission.chain import ChainPlugin
from orchtw.assembly.flags import parse
from orchtw.naming.naming import Naming
from orchtw.request import RequestInfo, UserInfo
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.testing.process import ServerProcess, environment
from tests.forked import forking
from tests.in_process import InProcessServer
from tests.verbs.served import ServedCase

reactor: Any = installed_reactor

DOCS = Path(__file__).resolve().parent.parent / "docs"


def example(page: str, name: str) -> str:
    """The snippet behind the marker `<!-- example: NAME -->` or `<!-- config: NAME -->` of a page."""
    marker = rf"<!-- (?:example|config): {re.escape(name)} -->"
    found = re.search(rf"{marker}\n```\w+\n(.*?)^```", (DOCS / page).read_text(), re.M | re.S)
    assert found is not None, name
    return found[1]


class SiteTests(TestCase):
    async def test_site(self) -> None:
        """The API answers below somebody's own site, by the tokens of its file."""
        folder = Path(self.mktemp())
        folder.mkdir()
        (folder / "tokens.csv").write_text('s3cret,ann,1,"system:masters"\n')
        defined: dict[str, Any] = {}
        exec(compile(example("extending.md", "site"), "extending.md", "exec"), defined)
        site, instance = await defined["make_site"](reactor, folder)
        self.addCleanup(lambda: instance.lifecycle.stop())
        port = reactor.listenTCP(0, site, interface="127.0.0.1")
        self.addCleanup(port.stopListening)
        pool = HTTPConnectionPool(reactor, persistent=False)
        self.addCleanup(pool.closeCachedConnections)
        url = f"http://127.0.0.1:{port.getHost().port}".encode()
        for path, token, code in (
            (b"/api/v1/namespaces", b"s3cret", 200),
            (b"/api/v1/namespaces", b"wrong", 401),
            (b"/apis/apps/v1/deployments", b"s3cret", 200),
            (b"/mine", b"", 200),
        ):
            headers = Headers({b"authorization": [b"Bearer " + token]})
            answer = await Agent(reactor, pool=pool).request(b"GET", url + path, headers)
            body = await readBody(answer)
            self.assertEqual(answer.code, code, body)
            if path.startswith(b"/api") and code == 200:
                self.assertTrue(orjson.loads(body)["kind"].endswith("List"))


class KindTests(SynchronousTestCase):
    def test_record(self) -> None:
        """The recipe's record sets the status and the defaults, and lets nothing shrink."""
        defined: dict[str, Any] = {}
        exec(compile(example("extending.md", "kind"), "extending.md", "exec"), defined)
        record, naming = defined["WIDGET"], Naming.orch()
        self.assertEqual(defined["KINDS"], (record,))
        catalogue = Catalogue.load(naming)
        resource = catalogue.find("apps", "v1", "deployments")
        assert resource is not None
        strategy = record.strategy(resource, naming, Codecs(catalogue).kind("apps/v1", "Deployment"), record)
        widget: dict[str, Any] = {"metadata": {"name": "a", "namespace": "b"}, "spec": {"width": 2, "size": 3}}
        strategy.set_defaults(widget)
        strategy.prepare_for_create(widget, UserInfo(name="ann"))
        self.assertEqual(widget["spec"]["height"], 2)
        self.assertEqual(widget["status"], {"phase": "Idle"})
        self.assertEqual(widget["metadata"]["generation"], 1)
        causes = strategy.validate_update({**widget, "spec": {"size": 2}}, widget)
        (cause,) = (each for each in causes if each.field == "spec.size")  # others are those of the borrowed schema
        self.assertEqual(str(cause), "spec.size: Invalid value: 2: must not shrink")


class OperatorTests(TestCase):
    timeout = 120

    async def test_kopf(self) -> None:
        """The operator of the recipe greets, run by kopf against a server of the test's own."""
        server = ServerProcess(forking, self.mktemp(), "--vocabulary=kubernetes")
        await server.start()
        self.addCleanup(server.terminate)
        folder = Path(self.mktemp())
        folder.mkdir()
        for name in ("greeter.py", "check_greeter.py"):
            (folder / name).write_text(example("operators.md", name))
        environ = {**environment(), "KUBECONFIG": str(server.kubeconfig)}
        output, errors, status = await getProcessOutputAndValue(
            sys.executable, [str((folder / "check_greeter.py").absolute())], environ, reactor=reactor
        )
        self.assertEqual((output.strip(), status), (b"greeted", 0), errors.decode())


class LeanServerTests(TestCase):
    async def test_without_pods(self) -> None:
        """The configuration starts a server that serves config maps and no pods."""
        config = Path(self.mktemp()).absolute()
        settings = yaml.safe_load(example("without-pods.md", "without-pods"))
        own = {key: value for key, value in settings.items() if key not in ("data-dir", "secure-port")}
        config.write_text(yaml.safe_dump(own))
        server = InProcessServer(reactor, self.mktemp(), **settings_of(config))
        await server.start()
        self.addCleanup(server.stop)
        for path, code in (
            ("/api/v1/configmaps", 200),
            ("/api/v1/namespaces/default", 200),
            ("/api/v1/pods", 404),
            ("/apis/apps/v1/deployments", 404),
        ):
            self.assertEqual((await server.request("GET", path)).code, code, path)


def settings_of(config: Path) -> dict[str, Any]:
    """Return the settings of a configuration file, as keywords of `Config.of`."""
    parsed = parse(["--config", str(config)])
    return {"vocabulary": parsed.generic.vocabulary, "runtime_config": parsed.generic.runtime_config}


class AuthorizerTests(SynchronousTestCase):
    def test_authorizer(self) -> None:
        """The recipe's authorizer allows its group to read, and has no opinion on anything else."""
        defined: dict[str, Any] = {}
        exec(compile(example("extending.md", "authorizer"), "extending.md", "exec"), defined)
        authorizer = defined["ReadersRead"]()
        reader, other = UserInfo(name="ann", groups=("readers",)), UserInfo(name="bob")
        read, write = (RequestInfo(is_resource=True, verb=verb, path="") for verb in ("list", "create"))
        for user, info, allowed in ((reader, read, True), (reader, write, None), (other, read, None)):
            self.assertIs(authorizer.authorize(user, info).allowed, allowed)
        self.assertEqual([len(authorizer.rules_for(user, "").resources) for user in (reader, other)], [1, 0])


class AdmissionWebhookTests(SynchronousTestCase):
    def test_example(self) -> None:
        """The test that the handbook shows passes."""
        source = example("testing/twisted.md", "admission-webhook")
        folder = Path(self.mktemp())
        folder.mkdir()
        (folder / "test_mine.py").write_text(source)
        command = [sys.executable, "-m", "twisted.trial", "test_mine"]
        variables = {**environment(), "PYTHONPATH": f"{DOCS.parent}{os.pathsep}{folder.absolute()}"}
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout.decode())


class PluginTests(ServedCase):
    def make_plugin(self) -> ChainPlugin:
        defined: dict[str, Any] = {}
        exec(compile(example("extending.md", "plugin"), "extending.md", "exec"), defined)
        plugin: ChainPlugin = defined["NoLatest"]()
        return plugin

    def test_plugin(self) -> None:
        """The plugin of the recipe refuses images without a version, and changes the others' pull policy."""
        spec = {"containers": [{"name": "c", "image": "web:1"}]}
        made = self.done("POST", "pods", {"metadata": {"name": "p"}, "spec": spec})
        self.assertEqual(made["spec"]["containers"][0]["imagePullPolicy"], "Always")
        spec["containers"][0]["image"] = "web"
        answer = self.send("POST", "pods", {"metadata": {"name": "q"}, "spec": spec})
        self.assertEqual(answer.json["message"], 'pods "q" is forbidden: image web names no version')

"""Examples of the handbook that are more than an import, run as they stand there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import orjson
import yaml
from twisted.internet import reactor as installed_reactor
from twisted.internet.utils import getProcessOutputAndValue
from twisted.trial.unittest import TestCase
from twisted.web.client import Agent, HTTPConnectionPool, readBody
from twisted.web.http_headers import Headers

from orchtw.assembly.flags import parse
from orchtw.testing.in_process import InProcessServer
from orchtw.testing.process import ServerProcess, environment

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
        self.addCleanup(lambda: instance.stop())
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


class OperatorTests(TestCase):
    timeout = 120

    async def test_kopf(self) -> None:
        """The operator of the recipe greets, run by kopf against a server of the test's own."""
        server = ServerProcess(reactor, self.mktemp(), "--vocabulary=kubernetes")
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
    """What a configuration file sets, as fields of `Config`."""
    parsed = parse(["--config", str(config)])
    return {"vocabulary": parsed.vocabulary, "runtime_config": parsed.runtime_config}

"""Examples of the handbook that are more than an import, run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
from twisted.internet import reactor as installed_reactor
from twisted.trial.unittest import TestCase
from twisted.web.client import Agent, HTTPConnectionPool, readBody
from twisted.web.http_headers import Headers

reactor: Any = installed_reactor

PAGE = Path(__file__).resolve().parent.parent / "docs" / "extending.md"


def example(name: str) -> dict[str, Any]:
    """What the snippet behind the marker `<!-- example: NAME -->` defines."""
    found = re.search(rf"<!-- example: {name} -->\n```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert found is not None, name
    defined: dict[str, Any] = {}
    exec(compile(found[1], f"{PAGE.name}: {name}", "exec"), defined)
    return defined


class SiteTests(TestCase):
    async def test_site(self) -> None:
        """The API answers below somebody's own site, by the tokens of its file."""
        folder = Path(self.mktemp())
        folder.mkdir()
        (folder / "tokens.csv").write_text('s3cret,ann,1,"system:masters"\n')
        site, core = await example("site")["make_site"](reactor, folder)
        self.addCleanup(lambda: core.stop())
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

"""API server without a network: requests go straight to its handler chain, on the test's own reactor.

```python
class MyTests(twisted.trial.unittest.TestCase):
    async def test_it(self) -> None:
        server = InProcessServer(reactor, self.mktemp())
        await server.start()
        self.addCleanup(server.stop)
        answer = await server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "a"}})
        self.assertEqual(answer.code, 201)
```
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import orjson
from twisted.internet.defer import Deferred

from orchtw.assembly.membership import ServerKeys
from orchtw.assembly.store import claim_store
from orchtw.bootstrap.server_leases import ServerPlace
from orchtw.config import Config
from orchtw.naming.naming import Naming
from orchtw.request import Ending, Peer, Request, Response
from orchtw.server import Server
from orchtw.serving.watch_stream import WatchStream
from orchtw.testing.in_process_stream import Collected
from orchtw.testing.in_process_watch import InProcessWatch

TOKEN = "in-process-administrator"
TOKENS = f'{TOKEN},admin,admin,"system:masters"\n'


class ClientAnswer(msgspec.Struct, frozen=True):
    """Complete response. Header names are in lower case; the values of repeated headers are joined by ", "."""

    code: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Return the body's JSON value."""
        return orjson.loads(self.body)


class InProcessServer:
    """Server on a data folder; `settings` are those of `Config.of`.

    Everything but the network is real: the store is on disk, requests are authenticated by an administrator's token.
    """

    def __init__(self, reactor: Any, data_dir: str | os.PathLike[str], **settings: Any) -> None:
        folder = Path(data_dir)
        folder.mkdir(parents=True, exist_ok=True)
        tokens = folder / "tokens.csv"
        tokens.write_text(TOKENS)
        config = Config.of(data_dir=folder, token_auth_file=tokens, **settings)
        self.naming = Naming.of(config.generic.vocabulary)
        store, keys = claim_store(config, self.naming, reactor), ServerKeys(secret=b"s" * 32)
        place = ServerPlace(config.serving.public_address, 6443)
        self.instance = Server(config, self.naming, reactor, store=store, place=place, keys=keys)

    async def start(self) -> None:
        """Open the store and fill the caches."""
        await self.instance.lifecycle.start()

    def stop(self) -> Deferred[None]:
        """Stop the server; fires when everything is on disk. Suitable for addCleanup."""
        return Deferred.fromCoroutine(self.instance.lifecycle.stop())

    async def request(
        self, method: str, url: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> ClientAnswer:
        """Send one request; a body that is not bytes is sent as JSON. Raises ValueError for a watch: see `watch`."""
        response = await self._respond(method, url, body, headers)
        if isinstance(response.stream, WatchStream):
            response.drop(Ending.CLIENT_GONE)
            raise ValueError(f"{url} is a watch: use InProcessServer.watch")
        if response.stream is not None:
            response.body = await Collected(response.stream).whole
        return _answer(response)

    async def watch(self, url: str, headers: Mapping[str, str] | None = None) -> InProcessWatch:
        """Start a watch, such as `/api/v1/configmaps?watch=1`. Raises ValueError with any other response."""
        response = await self._respond("GET", url, None, headers)
        if not isinstance(response.stream, WatchStream):
            raise ValueError(f"{url} is not a watch: {_answer(response)}")
        return InProcessWatch(response)

    async def _respond(self, method: str, url: str, body: Any, headers: Mapping[str, str] | None) -> Response:
        path, _, query = url.partition("?")
        given = {"authorization": f"Bearer {TOKEN}", **(headers or {})}
        if body is not None and not isinstance(body, bytes):
            body = orjson.dumps(body)
            given.setdefault("content-type", "application/json")
        request = Request(
            method=method, path=path, query=query, headers=given, body=body or b"", peer=Peer(address="test", port=0)
        )
        return await self.instance.front.app(request)


def _answer(response: Response) -> ClientAnswer:
    pieces = [response.body] if isinstance(response.body, bytes) else response.body
    body = b"".join(pieces if response.parts is None else response.parts)
    response.end(Ending.COMPLETE)
    headers = {"content-type": response.content_type}
    repeated: dict[str, list[str]] = {}
    for name, value in response.headers:
        repeated.setdefault(name.lower(), []).append(value)
    headers |= {name: ", ".join(values) for name, values in repeated.items()}
    return ClientAnswer(response.code, headers, body)

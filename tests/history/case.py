"""Server in this process that records its writes, for the tests of the record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import orjson
from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from orchtw.request import Ending, Response
from orchtw.serving.response_bodies import unframed
from orchtw.testing.in_process import ClientAnswer, InProcessServer
from orchtw.wire.objects import Object

reactor: Any = installed_reactor

MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
NO_WRITERS = ("-*",)


class RecordingCase(TestCase):
    """Requests to a server with `--enable-history` and without controllers."""

    timeout = 60
    settings: dict[str, Any] = {}

    async def setUp(self) -> None:  # type: ignore[override]
        await self.begin()

    async def begin(self, **settings: Any) -> None:
        """Start a server with these settings."""
        given = {"vocabulary": "kubernetes", "enable_history": True, "controllers": NO_WRITERS, **self.settings}
        self.server = InProcessServer(reactor, self.mktemp(), **{**given, **settings})
        await self.server.start()
        self.addCleanup(self.server.stop)

    @property
    def recorder(self) -> Any:
        """The recorder of the server."""
        record = self.server.instance.lifecycle.record
        assert record is not None
        return record.recorder

    async def asked(self, method: str, path: str, body: Any = None, **headers: str) -> ClientAnswer:
        """The answer to a request, which must succeed. Underscores in names of headers stand for dashes."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await self.server.request(method, path, body, given)
        self.assertIn(answer.code, (200, 201), answer.body)
        return answer

    async def created(self, name: str, path: str = MAPS, **members: Any) -> int:
        """Create an object; returns its revision."""
        answer = await self.asked("POST", path, {"metadata": {"name": name}, **members})
        return int(answer.json["metadata"]["resourceVersion"])

    async def put(self, name: str, path: str = MAPS, **members: Any) -> int:
        """Replace an object; returns its revision."""
        answer = await self.asked("PUT", f"{path}/{name}", {"metadata": {"name": name}, **members})
        return int(answer.json["metadata"]["resourceVersion"])

    async def records(self, **params: Any) -> list[Object]:
        """The records of a query."""
        answer = await self.asked("GET", history("", params))
        self.assertEqual(answer.headers["content-type"], "application/x-ndjson")
        return lines_of(answer.body)

    async def lines(self, path: str, **params: Any) -> list[Object]:
        """The lines of another answer: `/at` or `/diff`."""
        return lines_of((await self.asked("GET", history(path, params))).body)

    async def refused(self, where: str, **params: Any) -> tuple[int, str]:
        """Code and message of a refusal."""
        answer = await self.server.request("GET", history(where, params))
        self.assertEqual(answer.json["kind"], "Status")
        return answer.code, answer.json["message"]

    async def stream(self, **params: Any) -> Reader:
        """A reader of a response that may be endless."""
        response = await self.server._respond("GET", history("", params), None, None)
        return Reader(response)


def history(path: str, params: dict[str, Any]) -> str:
    """The URL of a query; `from_` stands for `from`."""
    return f"/debug/history{path}?{urlencode({k.rstrip('_'): v for k, v in params.items()}, doseq=True)}"


def lines_of(body: bytes) -> list[Object]:
    """The JSON values of lines, each of which ends."""
    return [orjson.loads(line) for line in body.split(b"\n")[:-1]]


class Reader:
    """`ResponseChannel` of a streamed response, which can be paused like a connection whose client is slow."""

    def __init__(self, response: Response) -> None:
        self.received = b""
        self.ending: Ending | str | None = None
        self.paused = False
        self.writes = 0
        self._response = response
        assert response.stream is not None
        self._stream = response.stream
        self._stream.start(self)

    def write(self, framed: bytes) -> None:
        """Collect what a chunk holds."""
        assert self.ending is None
        self.writes += 1
        self.received += unframed(framed)

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Take the pieces of a chunk."""
        self.received += b"".join(pieces)

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Keep the producer for pauses."""
        self._producer = producer

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        """Take note of the end."""
        self.ending = ending

    def abort(self) -> None:
        """Take note of the end of the connection."""
        self.ending = "aborted"

    def reset(self) -> None:
        """Take note of the end of the connection in one way."""
        self.ending = "aborted"

    def pause(self) -> None:
        """Pause, as a connection does whose buffer is full."""
        self._producer.pauseProducing()

    def resume(self) -> None:
        """Go on, as a connection does whose buffer has drained."""
        self._producer.resumeProducing()

    def leave(self) -> None:
        """Disconnect: the client is gone."""
        self._stream.connection_lost()
        self._response.end(Ending.CLIENT_GONE)

    @property
    def lines(self) -> list[Object]:
        """The lines by now."""
        return lines_of(self.received)

    async def until(self, count: int) -> list[Object]:
        """Wait for so many lines."""
        while len(self.lines) < count and self.ending is None:
            await turn()
        return self.lines

    async def ended(self) -> list[Object]:
        """Wait for the end; returns all lines."""
        while self.ending is None:
            await turn()
        return self.lines


def turn() -> Deferred[None]:
    """Let the reactor do what is due."""
    return deferLater(reactor, 0.001)

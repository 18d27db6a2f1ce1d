"""A webhook in a process of its own, which answers at once, late, or with a patch."""

from __future__ import annotations

import base64
import multiprocessing
from multiprocessing.connection import Connection
from typing import Any

import orjson

from bench.http1 import BenchError

READY_LIMIT_S = 30.0
PATCH = b'[{"op":"add","path":"/metadata/labels","value":{"seen":"yes"}}]'

ALLOW = "/allow"
LABEL = "/label"
LATE = "/late"
LATE_S = 0.05


class WebhookProcess:
    """The parent's handle: `client_config` leads to one of the paths above."""

    def __init__(self) -> None:
        spawning = multiprocessing.get_context("spawn")
        pipe, theirs = spawning.Pipe()
        self._process = spawning.Process(target=_main, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        if not pipe.poll(READY_LIMIT_S):
            raise BenchError("the webhook has not started")
        self._config: dict[str, str] = pipe.recv()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def client_config(self, path: str) -> dict[str, str]:
        """What a configuration says of it."""
        return {**self._config, "url": self._config["url"] + path}

    def stop(self) -> None:
        self._process.terminate()
        self._process.join()


def _main(pipe: Connection) -> None:
    from twisted.internet import reactor as installed_reactor
    from twisted.internet.task import deferLater

    from orchtw.testing.webhook import Asked, WebhookServer

    reactor: Any = installed_reactor
    patch = {"patchType": "JSONPatch", "patch": base64.b64encode(PATCH).decode()}

    def answer(asked: Asked) -> Any:
        server.asked.clear()
        review = orjson.loads(asked.body)
        response = {"uid": review["request"]["uid"], "allowed": True}
        if asked.target.startswith(LABEL):
            response |= patch
        text = orjson.dumps({**review, "request": None, "response": response})
        return deferLater(reactor, LATE_S, lambda: text) if asked.target.startswith(LATE) else text

    server = WebhookServer(reactor, answer)
    pipe.send(server.client_config())
    reactor.run()

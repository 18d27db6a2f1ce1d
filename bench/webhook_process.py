"""A webhook in a process of its own, so that what it takes is not the server's."""

from __future__ import annotations

import base64
import multiprocessing
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final

import orjson

from bench.http1 import BenchError

START_LIMIT_S: Final = 20.0
SLOW_S: Final = 0.05
_LABEL: Final = [{"op": "add", "path": "/metadata/labels/hooked", "value": "yes"}]
_PATCH: Final = {"patchType": "JSONPatch", "patch": base64.b64encode(orjson.dumps(_LABEL)).decode()}


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where it is. `/allow` lets everything through, `/label` adds a label, `/slow` takes SLOW_S."""

    url: str
    ca_bundle: str
    pid: int

    def client_config(self, path: str) -> dict[str, str]:
        """Return the clientConfig of the webhook."""
        return {"url": self.url + path, "caBundle": self.ca_bundle}


@contextmanager
def webhook() -> Iterator[Webhook]:
    """Runs while the block does."""
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    process = spawning.Process(target=_main, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(START_LIMIT_S):
            raise BenchError("the webhook does not start")
        assert process.pid is not None
        url, ca_bundle = ours.recv()
        yield Webhook(url, ca_bundle, process.pid)
    finally:
        ours.close()
        process.join(START_LIMIT_S)


def _main(pipe: Connection) -> None:
    """Serve until the other end of the pipe is closed."""
    from twisted.internet import reactor as installed
    from twisted.internet.task import deferLater

    from orchtw.testing.webhook import WebhookRequest, WebhookServer

    reactor: Any = installed

    def answer(asked: WebhookRequest) -> Any:
        server.asked.clear()
        review = asked.json
        response = {"uid": review["request"]["uid"], "allowed": True}
        path = asked.target.partition("?")[0]
        if path == "/label":
            response |= _PATCH
        reply = {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}
        return deferLater(reactor, SLOW_S, lambda: reply) if path == "/slow" else reply

    def await_end() -> None:
        try:
            pipe.recv()
        except EOFError:
            reactor.callFromThread(reactor.stop)

    server = WebhookServer(reactor, answer)
    threading.Thread(target=await_end, daemon=True).start()
    reactor.callWhenRunning(pipe.send, (server.url, server.ca_bundle))
    reactor.run()

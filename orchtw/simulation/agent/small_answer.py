"""The small HTTP answer of every port of a simulated pod (reference SIM-24)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import h11

from orchtw.simulation.pods.plans import command_of, hostname
from orchtw.wire.objects import Object

MOST_BODY_BYTES: Final = 1 << 20
_NAMED: Final = "serve-hostname"
_TEXT: Final = [("Content-Type", "text/plain; charset=utf-8"), ("Server", "simulated")]


def small_answer(pod: Object, port: str, method: str, target: str) -> bytes:
    """Return the text: the pod that answers, and what it was asked; or only its host's name, if it serves that."""
    if any(_NAMED in command_of(each) for each in pod["spec"]["containers"]):
        return hostname(pod).encode()
    meta = pod["metadata"]
    return f"{meta['namespace']}/{meta['name']} port {port}: {method} {target}\n".encode()


class SmallServer:
    """HTTP server on one connection to a port of a pod; `write` sends bytes, `close` ends the connection."""

    def __init__(self, pod: Object, port: str, write: Callable[[bytes], object], close: Callable[[], object]) -> None:
        self._pod = pod
        self._port = port
        self._write = write
        self._close = close
        self._http = h11.Connection(our_role=h11.SERVER)
        self._asked: h11.Request | None = None
        self._size = 0
        self._closed = False

    def feed(self, data: bytes) -> None:
        """Take in bytes of the client; none at its end."""
        if self._closed:
            return
        try:
            self._http.receive_data(data)
            self._events()
        except h11.RemoteProtocolError:
            self._end(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n" if data else b"")

    def _events(self) -> None:
        while not self._closed:
            event = self._http.next_event()
            if isinstance(event, h11.Request):
                self._asked, self._size = event, 0
                if self._http.they_are_waiting_for_100_continue:
                    self._write(self._http.send(h11.InformationalResponse(status_code=100, headers=[])))
            elif isinstance(event, h11.Data):
                self._size += len(event.data)
                if self._size > MOST_BODY_BYTES:
                    self._end(b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            elif isinstance(event, h11.EndOfMessage):
                self._answer()
            elif isinstance(event, h11.ConnectionClosed):
                self._end(b"")
            else:
                return

    def _answer(self) -> None:
        assert self._asked is not None
        method, target = self._asked.method.decode(), self._asked.target.decode()
        body = small_answer(self._pod, self._port, method, target)
        head = h11.Response(status_code=200, headers=[*_TEXT, ("Content-Length", str(len(body)))])
        made = self._http.send(head) or b""
        if method != "HEAD":
            made += self._http.send(h11.Data(data=body)) or b""
        self._write(made + (self._http.send(h11.EndOfMessage()) or b""))
        if self._http.our_state is h11.MUST_CLOSE:
            self._end(b"")
        else:
            self._http.start_next_cycle()

    def _end(self, last: bytes) -> None:
        self._closed = True
        if last:
            self._write(last)
        self._close()

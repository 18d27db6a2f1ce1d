"""A server with a pod and a node, and a backend in memory in place of whatever it dials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchtw.outbound.dialer import Dialer
from orchtw.request import Response
from orchtw.wire.objects import Object
from tests.outbound.doubles import Backend
from tests.verbs.served import MERGE, ServedCase

UPGRADE = {"connection": "Upgrade", "upgrade": "SPDY/3.1", "x-stream-protocol-version": "v4.channel.k8s.io"}
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"


def answer(body: bytes = b"ok", head: str = "200 OK", *headers: str) -> bytes:
    """Return a response as bytes."""
    lines = "".join(f"{line}\r\n" for line in headers)
    return f"HTTP/1.1 {head}\r\nContent-Length: {len(body)}\r\n{lines}\r\n".encode() + body


class ConnectionCase(ServedCase):
    """A pod `p` on node `n`; `self.backend` answers in place of whatever is dialled."""

    def setUp(self) -> None:
        super().setUp()
        self.backend = Backend(lambda request: self.reply)
        self.reply = answer()
        self.patch(Dialer, "exchange", lambda dialer, *args: self.backend.exchange(*args))
        self.node([{"type": "InternalIP", "address": "10.0.0.9"}])
        self.pod("p", containers=("c",))

    def node(self, addresses: list[Object], name: str = "n", port: int = 0, /, **labels: str) -> None:
        """A node with these addresses."""
        self.done("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}})
        endpoints = {"orchletEndpoint": {"Port": port}} if port else {}
        status = {"addresses": addresses, "daemonEndpoints": endpoints}
        self.done("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, MERGE)

    def pod(
        self, name: str, *, containers: tuple[str, ...], node: str = "n", address: str = "10.1.0.1", **spec: Any
    ) -> None:
        """A pod that has an address."""
        made = [{"name": each, "image": "i"} for each in containers]
        spec |= {"containers": made} | ({"nodeName": node} if node else {})
        self.done("POST", "pods", {"metadata": {"name": name}, "spec": spec})
        if address:
            status = {"podIP": address, "podIPs": [{"ip": address}]}
            self.done("PATCH", f"pods/{name}/status", {"status": status}, MERGE)

    def refused(self, path: str, code: int, message: str, method: str = "GET", headers: Any = None) -> Object:
        """The request is refused so."""
        got = self.send(method, path, None, headers)
        self.assertEqual((got.code, got.json["message"]), (code, message))
        status: Object = got.json
        return status

    def asked(self) -> str:
        """The request line that the other side got last."""
        return self._received().partition("\r\n")[0]

    def asked_headers(self) -> list[str]:
        return self._received().partition("\r\n\r\n")[0].split("\r\n")[1:]

    def _received(self) -> str:
        received: bytes = self.backend.transports[-1].value()
        return received.decode()

    def respond(self, method: str, path: str, headers: Mapping[str, str]) -> Response:
        """An answer that is not read."""
        url = f"/api/v1/namespaces/default/{path}"
        return self.run_async(self.server._respond(method, url, None, headers))

"""Addresses of node agents (reference PROXY-1, PROXY-2)."""

from __future__ import annotations

from orchtw.outbound.tls import ClientTLS
from tests.proxy.backend_case import UPGRADE, ConnectionCase


class AgentTests(ConnectionCase):
    """Where an agent is (reference PROXY-1, PROXY-2)."""

    def dialled(self, name: str) -> tuple[str, int]:
        self.pod(f"p-{name}", containers=("c",), node=name)
        self.assertEqual(self.code("GET", f"pods/p-{name}/log"), 200)
        return self.backend.dialled[-1].host, self.backend.dialled[-1].port

    def test_preferred(self) -> None:
        """The type that comes first in the flag, the port of the node's status."""
        addresses = [
            {"type": "ExternalIP", "address": "203.0.113.1"},
            {"type": "InternalIP", "address": "10.0.0.1"},
            {"type": "InternalIP", "address": "10.0.0.2"},
        ]
        self.node(addresses, "one", 1234)
        self.assertEqual(self.dialled("one"), ("10.0.0.1", 1234))
        self.node([*addresses, {"type": "Hostname", "address": "host"}], "two")
        self.assertEqual(self.dialled("two"), ("host", 10250))
        self.node(addresses, "three", **{"orch.io/hostname": "labelled"})
        self.assertEqual(self.dialled("three"), ("labelled", 10250))

    def test_unverified(self) -> None:
        """A log may be asked of an agent that anybody may be; nothing else may."""
        unverified = ClientTLS()
        self.patch(ClientTLS, "unverified", property(lambda tls: unverified))
        for path, expected in (
            ("log", False),
            ("log?insecureSkipTLSVerifyBackend=true", True),
            ("exec?insecureSkipTLSVerifyBackend=true", False),
        ):
            self.send("GET", f"pods/p/{path}", None, UPGRADE)
            self.assertEqual(self.backend.dialled[-1].tls is unverified, expected, path)

    def test_none(self) -> None:
        """No address of a wanted type is a 500 that shows what there is."""
        self.node([{"type": "Other", "address": "x"}], "bare")
        self.pod("q", containers=("c",), node="bare")
        self.refused("pods/q/log", 500, "no preferred addresses found; known addresses: [{Other x}]")

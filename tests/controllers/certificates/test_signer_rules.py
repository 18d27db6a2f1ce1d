"""Rules of the built-in signers (reference CSR-13, CTRL-31)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.controllers.certificates.signer_rules import RULES
from orchtw.pki.cluster_signing import CLIENT, LEGACY, NODE_CLIENT, NODE_SERVING
from orchtw.rules.certificate_requests import read_request
from tests.controllers.asked_certificates import DNS, EMAIL, IP, NODE, NODES, URI, pem

BITS = ("digital signature", "key encipherment")
ORGANIZATION = "subject organization is not system:nodes"
NAME = "subject common name does not begin with system:node:"


class SignerRuleTests(SynchronousTestCase):
    def why(self, signer: str, usages: tuple[str, ...], *asked: Any) -> str:
        return RULES[signer](read_request(pem(*asked)), usages)

    def test_client(self) -> None:
        """The signer of clients looks at usages only."""
        cases = {
            ("client auth",): "",
            ("client auth", *BITS): "",
            BITS: "missing required usage for client certificate: client auth",
            ("server auth", "client auth"): "invalid usage for client certificate: server auth",
        }
        for usages, expected in cases.items():
            self.assertEqual(self.why(CLIENT, usages, "x", (), (DNS, URI)), expected)

    def test_node_client(self) -> None:
        """A node's client certificate is for a node, without other names, for all three usages."""
        usages = (*BITS, "client auth")
        cases: list[tuple[tuple[Any, ...], str]] = [
            ((NODE, NODES), ""),
            ((NODE, ("system:nodes", "b")), ORGANIZATION),
            ((NODE,), ORGANIZATION),
            ((NODE, NODES, (DNS,)), "DNS subjectAltNames are not allowed"),
            ((NODE, NODES, (EMAIL,)), "Email subjectAltNames are not allowed"),
            ((NODE, NODES, (IP,)), "IP subjectAltNames are not allowed"),
            ((NODE, NODES, (URI,)), "URI subjectAltNames are not allowed"),
            (("node", NODES), NAME),
        ]
        for asked, expected in cases:
            self.assertEqual(self.why(NODE_CLIENT, usages, *asked), expected)
        wrong = "usages did not match [client auth digital signature key encipherment]"
        for other in (("client auth",), (*usages, "any"), (*BITS, "server auth")):
            self.assertEqual(self.why(NODE_CLIENT, other, NODE, NODES), wrong)

    def test_node_serving(self) -> None:
        """A node's serving certificate has names of hosts, and no others."""
        usages = (*BITS, "server auth")
        cases: list[tuple[tuple[Any, ...], str]] = [
            ((NODE, NODES, (DNS,)), ""),
            ((NODE, NODES, (IP,)), ""),
            ((NODE, ("b",), (IP,)), ORGANIZATION),
            ((NODE, NODES), "DNS or IP subjectAltName is required"),
            ((NODE, NODES, (URI,)), "DNS or IP subjectAltName is required"),
            ((NODE, NODES, (IP, EMAIL)), "Email subjectAltNames are not allowed"),
            ((NODE, NODES, (IP, URI)), "URI subjectAltNames are not allowed"),
            (("node", NODES, (IP,)), NAME),
        ]
        for asked, expected in cases:
            self.assertEqual(self.why(NODE_SERVING, usages, *asked), expected)
        wrong = "usages did not match [digital signature key encipherment server auth]"
        self.assertEqual(self.why(NODE_SERVING, ("server auth",), NODE, NODES, (IP,)), wrong)

    def test_legacy(self) -> None:
        """The legacy signer refuses nothing."""
        self.assertEqual(self.why(LEGACY, ("any", "cert sign"), "", ("system:masters",)), "")

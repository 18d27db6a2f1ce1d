"""The administrator's client configuration (reference CLIENT-9)."""

from __future__ import annotations

import base64

import yaml
from twisted.trial.unittest import SynchronousTestCase

from orchtw.pki.kubeconfig import compose


class ComposeTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.content = compose(
            cluster="orch",
            user="orch-admin",
            server="https://127.0.0.1:6443",
            ca_pem=b"the CA",
            certificate_pem=b"the certificate",
            key_pem=b"the key" * 1000,
        )
        self.document = yaml.safe_load(self.content)

    def test_form(self) -> None:
        """It is a v1 Config."""
        self.assertEqual((self.document["kind"], self.document["apiVersion"]), ("Config", "v1"))
        self.assertEqual(self.document["preferences"], {})

    def test_one_context(self) -> None:
        """One cluster, one user and one context, which is the current one, refer to each other."""
        (cluster,), (user,), (context,) = (self.document[key] for key in ("clusters", "users", "contexts"))
        self.assertEqual(context["context"], {"cluster": cluster["name"], "user": user["name"]})
        self.assertEqual((context["name"], self.document["current-context"]), ("orch-admin@orch",) * 2)
        self.assertEqual(cluster["cluster"]["server"], "https://127.0.0.1:6443")

    def test_everything_is_embedded(self) -> None:
        """The file is enough by itself: certificates and key are in it, each on a line of its own."""
        (cluster,), (user,) = self.document["clusters"], self.document["users"]
        found = (
            cluster["cluster"]["certificate-authority-data"],
            user["user"]["client-certificate-data"],
            user["user"]["client-key-data"],
        )
        expected = (b"the CA", b"the certificate", b"the key" * 1000)
        self.assertEqual(tuple(map(base64.b64decode, found)), expected)
        self.assertIn(b"client-key-data: " + base64.b64encode(b"the key" * 1000) + b"\n", self.content)

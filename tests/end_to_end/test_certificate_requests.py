"""Certificates from the server: key, request, approval, certificate, access (reference CSR-1, CSR-12 to CSR-16)."""

from __future__ import annotations

import shutil
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

from cryptography import x509
from twisted.internet.task import deferLater
from twisted.internet.utils import getProcessOutputAndValue

from orchtw.objects import Object
from orchtw.testing.kubectl import Kubectl
from tests.controllers.asked_certificates import NODE, NODES, encoded, pem
from tests.end_to_end.case import NO_KUBECTL, ServerCase, reactor

OPENSSL = shutil.which("openssl")
LOOKS, LOOK_S = 100, 0.2
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
BITS = ["digital signature", "key encipherment"]


class RequestCase(ServerCase):
    vocabulary = "kubernetes"

    async def ask(self, request: str, signer: str, *usages: str) -> str:
        """The name of a new request."""
        name = self.unique("csr")
        spec = {"request": request, "signerName": f"kubernetes.io/{signer}", "usages": list(usages)}
        await self.created(REQUESTS, {"metadata": {"name": name}, "spec": spec})
        return name

    async def status(self, name: str, field: str = "certificate") -> Object:
        """The request's status once it has the field."""
        for _ in range(LOOKS):
            status: Object = (await self.client.get(f"{REQUESTS}/{name}")).json.get("status", {})
            if field in status:
                return status
            await deferLater(reactor, LOOK_S, lambda: None)
        self.fail(f"{name} never had a {field}")


class WalkTests(RequestCase):
    """With kubectl and openssl only."""

    if NO_KUBECTL or not OPENSSL:
        skip = NO_KUBECTL or "openssl is not on the PATH: not run"

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        self.folder = Path(self.mktemp()).absolute()
        self.folder.mkdir()
        kubeconfig = self.folder / "kubeconfig"
        shutil.copy(self.server.kubeconfig, kubeconfig)
        self.kubectl = Kubectl(reactor, kubeconfig, self.mktemp())

    async def openssl(self, *arguments: str) -> str:
        assert OPENSSL is not None
        output, errors, code = await getProcessOutputAndValue(OPENSSL, arguments, path=str(self.folder))
        self.assertEqual(code, 0, errors)
        return str(output, "utf-8")

    async def done(self, *arguments: str, stdin: str = "") -> str:
        result = await self.kubectl.run(f"--namespace={self.namespace}", *arguments, stdin=stdin)
        self.assertEqual(result.status, 0, result)
        return result.output

    async def request(self, user: str, *usages: str) -> str:
        """A key and a request of the user's, sent; the request's name."""
        await self.openssl("genrsa", "-out", "key.pem", "2048")
        await self.openssl("req", "-new", "-key", "key.pem", "-subj", f"/O=developers/CN={user}", "-out", "csr.pem")
        text = b64encode((self.folder / "csr.pem").read_bytes()).decode()
        name = self.unique("walk")
        manifest = f"""
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {{name: {name}}}
spec:
  request: {text}
  signerName: kubernetes.io/kube-apiserver-client
  expirationSeconds: 86400
  usages: [{", ".join(usages)}]
"""
        await self.done("apply", "-f", "-", stdin=manifest)
        return name

    async def condition(self, name: str) -> str:
        """The last column that kubectl shows."""
        return (await self.done("get", "csr", name, "--no-headers")).split()[-1]

    async def until(self, name: str, expected: str) -> None:
        """Return once kubectl shows that condition."""
        for _ in range(LOOKS):
            shown = await self.condition(name)
            if shown == expected:
                return
            await deferLater(reactor, LOOK_S, lambda: None)
        self.assertEqual(shown, expected)

    async def test_walk(self) -> None:
        """A user gets a certificate, and with it what the authorizer gives to that user."""
        name = await self.request("jane", "client auth")
        self.assertEqual(await self.condition(name), "Pending")
        self.assertIn("approved", await self.done("certificate", "approve", name))
        await self.until(name, "Approved,Issued")
        issued = await self.done("get", "csr", name, "-o", "jsonpath={.status.certificate}")
        (self.folder / "crt.pem").write_bytes(b64decode(issued))
        path = "jsonpath={.clusters[0].cluster.certificate-authority-data}"
        authority = await self.done("config", "view", "--raw", "-o", path)
        (self.folder / "ca.pem").write_bytes(b64decode(authority))
        await self.openssl("verify", "-purpose", "sslclient", "-CAfile", "ca.pem", "crt.pem")
        await self.check_certificate()
        await self.log_in("jane")
        await self.check_access()

    async def check_certificate(self) -> None:
        """It names user and group, is for clients only, and lives as long as was asked for."""
        text = await self.openssl("x509", "-in", "crt.pem", "-noout", "-text")
        for shown in ("O = developers, CN = jane", "CA:FALSE", "TLS Web Client Authentication"):
            self.assertIn(shown, text)
        await self.openssl("x509", "-in", "crt.pem", "-noout", "-checkend", "85000")

    async def check_access(self) -> None:
        """At first jane may only look around; with a Role, what it says and no more (reference AUTHZ-16)."""
        self.assertIn("certificates.k8s.io/v1", (await self.as_jane("api-versions")).output)
        await self.refused("list", "secrets", "get", "secrets")
        await self.refused("list", "configmaps", "get", "configmaps")
        verbs = "--verb=get,list,create"
        await self.done("create", "role", "editor", verbs, "--resource=configmaps")
        await self.done("create", "rolebinding", "janes", "--role=editor", "--user=jane")
        self.assertEqual((await self.as_jane("auth", "can-i", "create", "configmaps")).output.strip(), "yes")
        created = await self.as_jane("create", "configmap", "hers", "--from-literal=a=b")
        self.assertEqual((created.status, created.output), (0, "configmap/hers created\n"), created)
        self.assertIn("hers", (await self.as_jane("get", "configmaps")).output)
        await self.refused("delete", "configmaps", "delete", "configmap", "hers")
        await self.refused("list", "secrets", "get", "secrets")
        await self.refused("list", "configmaps", "get", "configmaps", "--namespace=default")
        hand_on = ("create", "rolebinding", "more", "--clusterrole=admin", "--user=jane")
        await self.refused("create", "rolebindings", *hand_on)
        await self.done("delete", "rolebinding", "janes")
        await self.refused("list", "configmaps", "get", "configmaps")

    async def refused(self, verb: str, resource: str, *command: str) -> None:
        """Jane's command fails, since she may not do that."""
        result = await self.as_jane(*command)
        self.assertEqual((result.status, result.output), (1, ""), result)
        self.assertIn(f'is forbidden: User "jane" cannot {verb} resource "{resource}"', result.errors)

    async def log_in(self, user: str) -> None:
        """A context that shows the certificate."""
        cluster = (await self.done("config", "view", "-o", "jsonpath={.clusters[0].name}")).strip()
        files = (f"--client-key={self.folder / 'key.pem'}", f"--client-certificate={self.folder / 'crt.pem'}")
        await self.done("config", "set-credentials", user, *files, "--embed-certs=true")
        await self.done("config", "set-context", user, f"--cluster={cluster}", f"--user={user}")

    async def as_jane(self, *arguments: str) -> Any:
        return await self.kubectl.run("--context=jane", f"--namespace={self.namespace}", *arguments)

    async def test_deny(self) -> None:
        """A denied request gets nothing; what a signer may not sign fails."""
        denied = await self.request("jane", "client auth")
        self.assertIn("denied", await self.done("certificate", "deny", denied))
        self.assertEqual(await self.condition(denied), "Denied")
        failed = await self.request("jane", "client auth", "server auth")
        await self.done("certificate", "approve", failed)
        await self.until(failed, "Approved,Failed")
        message = await self.done("get", "csr", failed, "-o", "jsonpath={.status.conditions[*].message}")
        self.assertIn("invalid usage for client certificate: server auth", message)


class AllowedWalkTests(WalkTests):
    """Where users may everything."""

    flags = ("--authorization-mode=AlwaysAllow",)

    async def check_access(self) -> None:
        """Jane may make what she likes."""
        self.assertEqual((await self.as_jane("create", "configmap", "hers")).status, 0)
        self.assertIn("hers", (await self.as_jane("get", "configmaps")).output)


class NodeTests(RequestCase):
    """Nodes' certificates."""

    async def test_client(self) -> None:
        """An administrator's request for a node is approved and signed by itself (reference CTRL-30)."""
        name = await self.ask(encoded(pem(NODE, NODES)), "kube-apiserver-client-kubelet", *BITS, "client auth")
        status = await self.status(name)
        (approved,) = status["conditions"]
        self.assertEqual((approved["type"], approved["reason"]), ("Approved", "AutoApproved"))
        issued = x509.load_pem_x509_certificate(b64decode(status["certificate"]))
        self.assertEqual(issued.subject.rfc4514_string(), f"CN={NODE},O=system:nodes")

    async def test_administrators(self) -> None:
        """Nobody becomes an administrator by a certificate (reference PLUG-24)."""
        spec = {
            "request": encoded(pem("jane", ("system:masters",))),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        }
        answer = await self.client.post(REQUESTS, {"metadata": {"name": "a"}, "spec": spec})
        self.assertEqual(answer.code, 403)
        signer = "kubernetes.io/kube-apiserver-client"
        expected = f"use of {signer} signer with system:masters group is not allowed"
        self.assertIn(expected, answer.json["message"])

"""Certificates from the server: key, request, approval, certificate, access (reference CSR-1, CSR-12 to CSR-16)."""

from __future__ import annotations

import shutil
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.internet.utils import getProcessOutputAndValue
from twisted.trial.unittest import TestCase

from orchtw.pki import certificates
from orchtw.testing.kubectl import Kubectl
from orchtw.testing.process import ServerProcess
from orchtw.testing.start_failed import StartFailed
from orchtw.wire.objects import Object
from tests.controllers.asked_certificates import DNS, IP, KEY, NODE, NODES, encoded, pem
from tests.end_to_end.case import NO_KUBECTL, ServerCase, reactor
from tests.end_to_end.client import Client, tls_context
from tests.forked import forking

OPENSSL = shutil.which("openssl")
LOOKS, LOOK_S = 100, 0.2
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
BITS = ["digital signature", "key encipherment"]
AUTHORITY = certificates.pem(certificates.new_authority("ca", datetime.now(UTC)).certificate)


class RequestCase(ServerCase):
    vocabulary = "kubernetes"

    async def ask(self, request: str, signer: str, *usages: str) -> str:
        """The name of a new request."""
        name = self.unique("csr")
        spec = {"request": request, "signerName": f"kubernetes.io/{signer}", "usages": list(usages)}
        await self.created(REQUESTS, {"metadata": {"name": name}, "spec": spec})
        return name

    async def approve(self, name: str) -> None:
        """Say yes to a request."""
        approved = {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
        self.assertEqual((await self.client.merge(f"{REQUESTS}/{name}/approval", approved)).code, 200)

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
        self.kubectl = Kubectl(forking, kubeconfig, self.mktemp())

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
        """Wait until kubectl shows that condition."""
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
    """Certificates of the nodes."""

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

    async def test_serving(self) -> None:
        """A node's serving certificate waits for somebody's word, and has the names that were asked for (CSR-13)."""
        name = await self.ask(encoded(pem(NODE, NODES, (DNS, IP))), "kubelet-serving", *BITS, "server auth")
        await self.approve(name)
        issued = x509.load_pem_x509_certificate(b64decode((await self.status(name))["certificate"]))
        names = issued.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        self.assertEqual(list(names), [DNS, IP])
        purposes = issued.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        self.assertEqual(list(purposes), [ExtendedKeyUsageOID.SERVER_AUTH])

    async def test_not_a_node(self) -> None:
        """Requests that are not a node's own are not approved, and fail after an approval (CTRL-31)."""
        name = await self.ask(encoded(pem("jane", NODES)), "kube-apiserver-client-kubelet", *BITS, "client auth")
        await self.approve(name)
        for _ in range(LOOKS):
            conditions = (await self.status(name, "conditions"))["conditions"]
            if len(conditions) > 1:
                break
            await deferLater(reactor, LOOK_S, lambda: None)
        failed = conditions[-1]
        self.assertEqual((failed["type"], failed["reason"]), ("Failed", "SignerValidationFailure"))
        self.assertEqual(failed["message"], "subject common name does not begin with system:node:")

    async def test_legacy(self) -> None:
        """The legacy signer is not for new requests (CSR-5)."""
        spec = {
            "request": encoded(pem()), "signerName": "kubernetes.io/legacy-unknown", "usages": ["client auth"]
        }
        answer = await self.client.post(REQUESTS, {"metadata": {"name": "legacy"}, "spec": spec})
        self.assertEqual(answer.code, 422)
        self.assertIn("the legacy signerName is not allowed via this API version", answer.json["message"])


class RightsTests(RequestCase):
    """Rights by roles, for one signer and for all of a domain (reference CSR-12)."""

    async def as_user(self, user: str, *rules: Object) -> Client:
        """A client that acts as a user who may read and update requests, and what the rules say."""
        group = "certificates.k8s.io"
        requests = {"apiGroups": [group], "resources": ["certificatesigningrequests"], "verbs": ["create", "get"]}
        parts = [f"certificatesigningrequests/{each}" for each in ("approval", "status")]
        updates = {"apiGroups": [group], "resources": parts, "verbs": ["update", "patch"]}
        name = self.unique(user)
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        meta = {"metadata": {"name": name}}
        await self.created(f"{rbac}/clusterroles", {**meta, "rules": [requests, updates, *rules]})
        api_group = "rbac.authorization.k8s.io"
        reference = {"apiGroup": api_group, "kind": "ClusterRole", "name": name}
        subject = {"apiGroup": api_group, "kind": "User", "name": name}
        await self.created(f"{rbac}/clusterrolebindings", {**meta, "roleRef": reference, "subjects": [subject]})
        return self.new_client(**{"impersonate-user": name})

    @staticmethod
    def signers(verb: str, *names: str) -> Object:
        return {
            "apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "verbs": [verb], "resourceNames": [*names]
        }

    async def for_signer(self, signer: str) -> str:
        """A new request to somebody else's signer."""
        name = self.unique("csr")
        spec = {"request": encoded(pem()), "signerName": signer, "usages": ["client auth"]}
        await self.created(REQUESTS, {"metadata": {"name": name}, "spec": spec})
        return name

    async def test_approve(self) -> None:
        """An approver for a domain approves for its signers; one for a signer for that one alone."""
        approved = {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
        for names, codes in (
            (("example.com/*",), (200, 200, 403)),
            (("example.com/a",), (200, 403, 403)),
            (("*",), (403, 403, 403)),
            (("example.com",), (403, 403, 403)),
        ):
            client = await self.as_user("approver", self.signers("approve", *names))
            for signer, code in zip(("example.com/a", "example.com/b", "example.org/a"), codes, strict=True):
                name = await self.for_signer(signer)
                answer = await client.merge(f"{REQUESTS}/{name}/approval", approved)
                self.assertEqual(answer.code, code, (names, signer))
                if code == 403:
                    text = f'user not permitted to approve requests with signerName "{signer}"'
                    self.assertTrue(answer.json["message"].endswith(text), answer)

    async def test_sign(self) -> None:
        """Approving is not signing, nor the other way round; a signer issues and gives up."""
        approver = await self.as_user("approver", self.signers("approve", "example.com/*"))
        signer = await self.as_user("signer", self.signers("sign", "example.com/a"))
        approved = {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
        issued = {"status": {"certificate": encoded(AUTHORITY)}}
        failed = {"status": {"conditions": [{"type": "Failed", "status": "True"}]}}
        one, two = await self.for_signer("example.com/a"), await self.for_signer("example.com/b")
        for client, path, change, code in (
            (signer, f"{one}/approval", approved, 403),
            (approver, f"{one}/approval", approved, 200),
            (approver, f"{one}/status", issued, 403),
            (signer, f"{one}/status", issued, 200),
            (signer, f"{two}/status", failed, 403),
        ):
            answer = await client.merge(f"{REQUESTS}/{path}", change)
            self.assertEqual(answer.code, code, (path, change, answer))
        three = await self.for_signer("example.com/a")
        self.assertEqual((await signer.merge(f"{REQUESTS}/{three}/status", failed)).code, 200)

    async def test_requester(self) -> None:
        """A request belongs to its sender, whatever its spec says (CSR-2)."""
        client = await self.as_user("asker")
        spec = {
            "request": encoded(pem()), "signerName": "example.com/a", "usages": ["client auth"],
            "username": "root", "uid": "0", "groups": ["system:masters"], "extra": {"a": ["b"]},
        }
        answer = await client.post(REQUESTS, {"metadata": {"name": self.unique("csr")}, "spec": spec})
        self.assertEqual(answer.code, 201, answer)
        made = answer.json["spec"]
        self.assertTrue(made["username"].startswith("asker"))
        self.assertEqual((made["groups"], "uid" in made, "extra" in made), (["system:authenticated"], False, False))


class OwnAuthorityTests(TestCase):
    """An authority that the operator gives for one signer, under its other name, and replaces (reference CSR-15)."""

    timeout = 120

    async def setUp(self) -> None:  # type: ignore[override]
        self.folder = Path(self.mktemp()).absolute()
        self.folder.mkdir()
        self.authorities: list[str] = []
        self.replace("first")
        self.server = ServerProcess(
            forking,
            self.folder / "data",
            "--vocabulary=kubernetes",
            f"--cluster-signing-kube-apiserver-client-cert-file={self.folder / 'ca.crt'}",
            f"--cluster-signing-kube-apiserver-client-key-file={self.folder / 'ca.key'}",
            "--cluster-signing-duration=2h",
            f"--client-ca-file={self.folder / 'clients.crt'}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
        )
        (self.folder / "tokens.csv").write_text('t,admin,1,"system:masters"\n')
        await self.server.start()
        self.addCleanup(self.server.terminate)
        context = tls_context(self.server.kubeconfig, certificate=False)
        self.admin = Client(self.server.port, context, {"authorization": "Bearer t"})
        self.addCleanup(self.admin.close)

    def replace(self, name: str) -> None:
        """Another authority, whose clients are believed beside those of the last one."""
        made = certificates.new_authority(name, datetime.now(UTC))
        self.authorities.append(certificates.pem(made.certificate).decode())
        (self.folder / "ca.crt").write_bytes(certificates.pem(made.certificate))
        (self.folder / "ca.key").write_bytes(certificates.key_pem(made.key))
        (self.folder / "clients.crt").write_text("".join(self.authorities))

    async def issued(self, name: str) -> x509.Certificate:
        """A certificate for jane."""
        signer = "kubernetes.io/kube-apiserver-client"
        spec = {"request": encoded(pem()), "signerName": signer, "usages": ["client auth"]}
        await self.admin.post(REQUESTS, {"metadata": {"name": name}, "spec": spec})
        approved = {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
        await self.admin.merge(f"{REQUESTS}/{name}/approval", approved)
        for _ in range(LOOKS):
            status = (await self.admin.get(f"{REQUESTS}/{name}")).json["status"]
            if "certificate" in status:
                return x509.load_pem_x509_certificate(b64decode(status["certificate"]))
            await deferLater(reactor, LOOK_S, lambda: None)
        self.fail(f"{name} has no certificate")

    async def code_with(self, issued: x509.Certificate) -> int:
        """Return the response to a request with the certificate."""
        context = tls_context(self.server.kubeconfig, certificate=False)
        chain = self.folder / "jane.pem"
        chain.write_bytes(certificates.pem(issued) + certificates.key_pem(KEY))
        context.load_cert_chain(chain)
        client = Client(self.server.port, context)
        try:
            return (await client.get("/api")).code
        finally:
            client.close()

    async def test_replaced(self) -> None:
        """It signs, for as long as the flag says; after a change the new one does, and both are believed."""
        first = await self.issued("one")
        self.assertEqual(first.issuer.rfc4514_string(), "CN=first")
        life = first.not_valid_after_utc - first.not_valid_before_utc
        self.assertEqual(life, timedelta(hours=2, minutes=5))
        self.replace("second")
        self.server.signal("HUP")
        while "reload: reread authorities that sign certificates" not in self.server.log:
            await deferLater(reactor, LOOK_S, lambda: None)
        second = await self.issued("two")
        self.assertEqual(second.issuer.rfc4514_string(), "CN=second")
        self.assertEqual([await self.code_with(each) for each in (first, second)], [200, 200])


class ContradictionTests(TestCase):
    timeout = 180

    async def test_refused(self) -> None:
        """One authority for all beside one of a signer's own ends the start with a line (reference CSR-15)."""
        flags = ("cert-file=a", "key-file=b", "kubelet-serving-cert-file=c", "kubelet-serving-key-file=d")
        named = (f"--cluster-signing-{flag}" for flag in flags)
        server = ServerProcess(forking, self.mktemp(), "--vocabulary=kubernetes", *named)
        starting: Deferred[Any] = Deferred.fromCoroutine(server.start())
        failure = await self.assertFailure(starting, StartFailed)
        expected = "cannot specify --cluster-signing-{cert,key}-file and other --cluster-signing-*-file flags"
        self.assertIn(expected, failure.errors + failure.output)

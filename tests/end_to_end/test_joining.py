"""A node joins with a bootstrap token and nothing else: it finds out whom it talks to, gets a certificate, and renews
it (reference AUTHN-20 to AUTHN-22, AUTHN-45, AUTHN-46, CTRL-30, CTRL-31).
"""

from __future__ import annotations

import hmac
import json
import ssl
import tempfile
import time
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from cryptography import x509
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from orchtw.naming.naming import Naming
from orchtw.pki.certificates import key_pem
from orchtw.testing.process import ServerProcess
from orchtw.values.times import time_text
from orchtw.wire.objects import Object
from tests.controllers.asked_certificates import KEY, NODE, NODES, encoded, pem
from tests.end_to_end.case import TRACEBACKS, reactor
from tests.end_to_end.client import Answer, Client, tls_context
from tests.forked import forking
from tests.rules.test_bootstrap_tokens import token_secret

ID, SECRET = "abcdef", "0123456789abcdef"
GROUP = "system:bootstrappers:workers"
USAGES = ["digital signature", "key encipherment", "client auth"]
LOOKS, LOOK_S = 200, 0.1


class JoiningTests(TestCase):
    """Joining a cluster: setup by an installer, then a newcomer with an address and a token."""

    vocabulary = "orch"
    timeout = 120
    hmac_key = f"{ID}.{SECRET}"
    """What the signature is made with."""

    async def setUp(self) -> None:  # type: ignore[override]
        self.naming = Naming.of(self.vocabulary)
        self.server = ServerProcess(
            forking,
            self.mktemp(),
            f"--vocabulary={self.vocabulary}",
            "--enable-bootstrap-token-auth",
            "--controllers=*,bootstrapsigner,tokencleaner",
        )
        await self.server.start()
        self.addCleanup(self.end)
        self.admin = self.client(tls_context(self.server.kubeconfig))
        self.info = f"/api/v1/namespaces/{self.naming.public_namespace}/configmaps/cluster-info"
        self.requests = f"/apis/{self.naming.api_version('certificates.orch.io/v1')}/certificatesigningrequests"

    async def end(self) -> None:
        await self.server.terminate()
        self.assertFalse([word for word in TRACEBACKS if word in self.server.log], self.server.log)

    def client(self, context: ssl.SSLContext, **headers: str) -> Client:
        made = Client(self.server.port, context, headers)
        self.addCleanup(made.close)
        return made

    # The installer

    async def install(self) -> None:
        """Tell newcomers of the cluster, and give the token's group what nodes need to join."""
        cluster = self.server_entry()
        clusters = [{"name": "", "cluster": cluster}]
        kubeconfig = json.dumps({"apiVersion": "v1", "kind": "Config", "clusters": clusters})
        public = f"/api/v1/namespaces/{self.naming.public_namespace}"
        await self.make(f"{public}/configmaps", "cluster-info", data={"kubeconfig": kubeconfig})
        await self.make(f"{public}/configmaps", "other", data={"a": "b"})
        rbac = f"/apis/{self.naming.api_version('rbac.authorization.orch.io/v1')}"
        rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["cluster-info"]}
        roles = f"{rbac}/namespaces/{self.naming.public_namespace}"
        await self.make(f"{roles}/roles", "newcomers", rules=[rule])
        await self.bind(f"{roles}/rolebindings", "Role", "newcomers", "User", "system:anonymous")
        nodes = self.naming.translate("system:certificates.orch.io:certificatesigningrequests:nodeclient")
        for role, group in (
            ("system:node-bootstrapper", GROUP),
            (nodes, GROUP),
            (nodes.replace("nodeclient", "selfnodeclient"), "system:nodes"),
        ):
            await self.bind(f"{rbac}/clusterrolebindings", "ClusterRole", role, "Group", group)
        secret = token_secret(auth_extra_groups=GROUP)
        path = f"/api/v1/namespaces/{self.naming.system_namespace}/secrets"
        await self.make(path, **{**secret, "type": self.naming.translate(secret["type"])})

    def server_entry(self) -> Object:
        """Return the server's entry in the administrator's kubeconfig."""
        authority = (self.server.data_dir / "pki" / "ca.crt").read_bytes()
        return {
            "server": f"https://127.0.0.1:{self.server.port}",
            "certificate-authority-data": b64encode(authority).decode(),
        }

    async def make(self, path: str, name: str = "", **obj: Any) -> None:
        answer = await self.admin.post(path, {"metadata": {"name": name}, **obj})
        self.assertEqual(answer.code, 201, answer)

    async def bind(self, path: str, kind: str, role: str, subject_kind: str, subject: str) -> None:
        group = self.naming.group("rbac.authorization.orch.io")
        reference = {"apiGroup": group, "kind": kind, "name": role}
        subjects = [{"apiGroup": group, "kind": subject_kind, "name": subject}]
        await self.make(path, f"test:{role}", roleRef=reference, subjects=subjects)

    # The newcomer

    def stranger(self) -> Client:
        """Return a client without credentials and verification."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return self.client(context)

    async def until(self, client: Client, path: str, good: Any) -> Any:
        """The answer once it is good."""
        for _ in range(LOOKS):
            answer = await client.get(path)
            if good(answer):
                return answer
            await deferLater(reactor, LOOK_S)
        raise AssertionError(answer)

    async def discovered(self) -> Object:
        """The cluster entry of the published file, once it is signed with the token. AssertionError: it is not."""
        answer = await self.until(self.stranger(), self.info, signature)
        data = answer.json["data"]
        self.assertTrue(self.verifies(data))
        cluster: Object = json.loads(data["kubeconfig"])["clusters"][0]["cluster"]
        return cluster

    def verifies(self, data: Object, key: str = "") -> bool:
        """As a client does: the payload is put between the dots, and the header must say HS256 and the token's id."""
        header, payload, found = data[f"jws-kubeconfig-{ID}"].split(".")
        self.assertEqual((payload, json.loads(decoded(header))), ("", {"alg": "HS256", "kid": ID}))
        payload = urlsafe_b64encode(data["kubeconfig"].encode()).decode().rstrip("=")
        wanted = hmac.digest((key or self.hmac_key).encode(), f"{header}.{payload}".encode(), "sha256")
        return hmac.compare_digest(wanted, decoded(found))

    def with_certificate(self, authority: str, issued: bytes) -> Client:
        context = ssl.create_default_context(cadata=authority)
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:
            file.write(issued + key_pem(KEY))
            file.flush()
            context.load_cert_chain(file.name)
        return self.client(context)

    async def asked(self, client: Client, name: str) -> tuple[str, bytes]:
        """The message of a new request's approval, and its certificate."""
        signer = self.naming.translate("orch.io/orch-apiserver-client-orchlet")
        spec = {"request": encoded(pem(NODE, NODES)), "signerName": signer, "usages": USAGES}
        answer = await client.post(self.requests, {"metadata": {"name": name}, "spec": spec})
        self.assertEqual(answer.code, 201, answer)
        path = f"{self.requests}/{name}"
        answer = await self.until(self.admin, path, lambda each: "certificate" in each.json.get("status", {}))
        status = answer.json["status"]
        return status["conditions"][0]["message"], b64decode(status["certificate"])

    async def test_join(self) -> None:
        """From a token to a node's certificate, and from that to the next one."""
        await self.install()
        cluster = await self.discovered()
        authority = b64decode(cluster["certificate-authority-data"]).decode()
        with_token = self.client(ssl.create_default_context(cadata=authority), authorization=f"Bearer {ID}.{SECRET}")
        agent = self.naming.translate("orchlet")
        message, issued = await self.asked(with_token, "first")
        self.assertEqual(message, f"Auto approving {agent} client certificate after SubjectAccessReview.")
        subject = x509.load_pem_x509_certificate(issued).subject.rfc4514_string()
        self.assertEqual(subject, f"CN={NODE},O=system:nodes")
        node = self.with_certificate(authority, issued)
        self.assertEqual((await node.post("/api/v1/nodes", {"metadata": {"name": "a"}})).code, 201)
        self.assertEqual((await node.get("/api/v1/nodes/a")).code, 200)
        message, issued = await self.asked(node, "second")
        self.assertEqual(message, f"Auto approving self {agent} client certificate after SubjectAccessReview.")
        renewed = self.with_certificate(authority, issued)
        self.assertEqual((await renewed.get("/api/v1/nodes/a")).code, 200)
        self.assertEqual((await renewed.get("/api/v1/secrets")).code, 403)

    async def test_what_a_stranger_sees(self) -> None:
        """Anonymous callers read this one object and no other; the token gives what its groups have, and no more."""
        self.assertEqual((await self.stranger().get(self.info)).code, 403)
        await self.install()
        stranger = self.stranger()
        await self.until(stranger, self.info, signature)
        for path in (self.info.replace("cluster-info", "other"), self.info.rpartition("/")[0], "/api/v1/namespaces"):
            answer: Answer = await stranger.get(path)
            self.assertEqual(answer.code, 403, path)
            self.assertIn('User \\"system:anonymous\\" cannot', answer.body.decode())
        context = tls_context(self.server.kubeconfig, certificate=False)
        token = self.client(context, authorization=f"Bearer {ID}.{SECRET}")
        self.assertEqual((await token.get(self.requests)).code, 200)
        self.assertEqual((await token.get("/api/v1/secrets")).code, 403)

    async def test_what_is_signed(self) -> None:
        """Changed content changes the signature; each token has its own, and old ones do not count."""
        await self.install()
        first = (await self.until(self.stranger(), self.info, signature)).json["data"]
        self.assertFalse(self.verifies(first, "0" * len(self.hmac_key)))
        self.assertFalse(self.verifies({**first, "kubeconfig": first["kubeconfig"] + " "}))
        await self.admin.merge(self.info, {"data": {"kubeconfig": "{}"}})
        answer = await self.until(self.stranger(), self.info, lambda each: signature(each) != signature_of(first))
        self.assertTrue(self.verifies(answer.json["data"]))
        self.assertFalse(self.verifies({**first, "kubeconfig": "{}"}))

    async def test_end(self) -> None:
        """A token that expires signs nothing, lets nobody in, and is deleted, all by itself."""
        await self.install()
        await self.until(self.stranger(), self.info, signature)
        path = f"/api/v1/namespaces/{self.naming.system_namespace}/secrets/bootstrap-token-{ID}"
        soon = time_text(int(time.time()) + 1)
        self.assertEqual((await self.admin.merge(path, {"stringData": {"expiration": soon}})).code, 200)
        await self.until(self.admin, path, lambda each: each.code == 404)
        await self.until(self.stranger(), self.info, lambda each: not signature(each))
        context = tls_context(self.server.kubeconfig, certificate=False)
        token = self.client(context, authorization=f"Bearer {ID}.{SECRET}")
        self.assertEqual((await token.get(self.requests)).code, 401)


class KubernetesJoiningTests(JoiningTests):
    """Existing clients verify with the secret half alone."""

    vocabulary = "kubernetes"
    hmac_key = SECRET


def signature(answer: Answer) -> str:
    """The token's signature in an answer, if there is one."""
    return signature_of(answer.json.get("data") or {}) if answer.code == 200 else ""


def signature_of(data: Object) -> str:
    return str(data.get(f"jws-kubeconfig-{ID}", ""))


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))

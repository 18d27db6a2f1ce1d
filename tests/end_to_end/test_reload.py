"""SIGHUP and the log's story, on a real process."""
# covers: orchtw.assembly.process

from __future__ import annotations

import socket
import ssl
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from orchtw.pki import certificates
from orchtw.testing.process import ServerProcess
from tests.end_to_end.case import reactor
from tests.end_to_end.client import PATIENCE_S, Client, tls_context
from tests.forked import forking

POLL_S = 0.05
READ_AGAIN = "reload: reread certificate files"


class ReloadTests(TestCase):
    timeout = 120

    async def setUp(self) -> None:  # type: ignore[override]
        self.tokens = Path(self.mktemp())
        self.tokens.write_text('one,ann,1,"system:masters"\n')
        flag = f"--token-auth-file={self.tokens.absolute()}"
        self.server = ServerProcess(forking, self.mktemp(), flag)
        await self.server.start()
        self.addCleanup(self.server.terminate)

    async def code(self, token: str) -> int:
        context = tls_context(self.server.kubeconfig, certificate=False)
        client = Client(self.server.port, context, {"authorization": f"Bearer {token}"})
        try:
            return (await client.get("/api/v1/namespaces")).code
        finally:
            client.close()

    async def logged(self, text: str) -> None:
        """Wait until the log has the text; the test's time limit is the deadline."""
        while text not in self.server.log:
            await deferLater(reactor, POLL_S)

    async def test_tokens(self) -> None:
        """SIGHUP takes over the token file; one that cannot be used changes nothing, and the process goes on
        (reference AUTHN-19, OPS-17).
        """
        self.assertEqual((await self.code("one"), await self.code("two")), (200, 401))
        self.tokens.write_text('two,ann,1,"system:masters"\n')
        self.server.signal("HUP")
        await self.logged("reload: reread --token-auth-file")
        self.assertEqual((await self.code("one"), await self.code("two")), (401, 200))
        self.tokens.write_text("bad\n")
        self.server.signal("HUP")
        await self.logged("reload: keeping the old --token-auth-file")
        self.assertEqual(await self.code("two"), 200)
        self.assertIn("refused with 401: invalid bearer token", self.server.log)
        self.assertTrue(self.server.running)

    async def test_story(self) -> None:
        """The log says when the server is ready and with what, and each step of the end."""
        await self.logged("ready: https://127.0.0.1:")
        for part in ("vocabulary orch", "data folder", "objects", "authorization Node,RBAC", "admin.kubeconfig"):
            self.assertIn(part, self.server.log)
        self.assertEqual(await self.server.terminate(), 0)
        log = self.server.log
        steps = ("/readyz fails", "no new connections", "watches have ended", "shutdown: complete")
        places = [log.index(step) for step in steps]
        self.assertEqual(places, sorted(places))
        self.assertNotIn("HTTPFactory", log)


class ClientAuthorityTests(TestCase):
    """`--client-ca-file` that is replaced while the server runs (reference AUTHN-12, AUTHN-55, AUTHN-56)."""

    timeout = 120

    async def setUp(self) -> None:  # type: ignore[override]
        now = datetime.now(UTC)
        self.first, self.second = (certificates.new_authority(name, now) for name in ("first", "second"))
        self.file = Path(self.mktemp()).absolute()
        self.trust(self.first, self.second)
        tokens = Path(self.mktemp()).absolute()
        tokens.write_text('one,ann,1,"system:masters"\n')
        flags = (f"--client-ca-file={self.file}", f"--token-auth-file={tokens}")
        self.server = ServerProcess(forking, self.mktemp(), *flags)
        await self.server.start()
        self.addCleanup(self.server.terminate)

    def trust(self, *authorities: certificates.Authority) -> None:
        self.file.write_bytes(b"".join(certificates.pem(each.certificate) for each in authorities))

    def context(self, authority: certificates.Authority, organization: str = "dev") -> ssl.SSLContext:
        """Return a client with a certificate of this authority."""
        key, now = certificates.new_key(), datetime.now(UTC)
        shown = certificates.issue(
            authority, key, "bob", certificates.CLIENT, now, organizations=(organization,)
        )
        pem = Path(self.mktemp())
        pem.write_bytes(certificates.pem(shown) + certificates.key_pem(key))
        context = tls_context(self.server.kubeconfig, certificate=False)
        context.load_cert_chain(pem)
        return context

    def client(self, authority: certificates.Authority) -> Client:
        """A client with a certificate of this authority, which keeps its connection."""
        made = Client(self.server.port, self.context(authority))
        self.addCleanup(made.close)
        return made

    def visit(self, context: ssl.SSLContext, session: ssl.SSLSession | None) -> tuple[int, bool, Any]:
        """The status of a request for known users only, whether the session was resumed, and the session."""
        plain = socket.create_connection(("127.0.0.1", self.server.port), PATIENCE_S)
        with context.wrap_socket(plain, server_hostname="localhost", session=session) as secure:
            secure.sendall(b"GET /api/v1/namespaces HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            answer = b"".join(iter(partial(secure.recv, 65536), b""))
            return int(answer.split(b" ")[1]), bool(secure.session_reused), secure.session

    async def test_resumed(self) -> None:
        """A resumed session keeps its user, until the authorities change (reference AUTHN-15, AUTHN-53)."""
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            self.trust(self.first, self.second)
            await self.hup()
            context = self.context(self.second, organization="system:masters")
            context.maximum_version = version
            code, resumed, session = await deferToThread(self.visit, context, None)
            self.assertEqual((code, resumed), (200, False))
            code, resumed, session = await deferToThread(self.visit, context, session)
            self.assertEqual((code, resumed), (200, True))
            self.trust(self.first)
            await self.hup()
            code, resumed, session = await deferToThread(self.visit, context, session)
            self.assertEqual((code, resumed), (401, False))
            code, resumed, session = await deferToThread(self.visit, context, session)
            self.assertEqual((code, resumed), (401, True))

    async def hup(self) -> None:
        """Have the files read again."""
        count = self.server.log.count(READ_AGAIN)
        self.server.signal("HUP")
        while self.server.log.count(READ_AGAIN) == count:
            await deferLater(reactor, POLL_S)

    async def published(self) -> int:
        """Return the number of client authorities that are published."""
        path = "/api/v1/namespaces/orch-system/configmaps/extension-apiserver-authentication"
        admin = Client(
            self.server.port,
            tls_context(self.server.kubeconfig, certificate=False),
            {"authorization": "Bearer one"},
        )
        self.addCleanup(admin.close)
        found: str = (await admin.get(path)).json["data"]["client-ca-file"]
        return found.count("BEGIN CERTIFICATE")

    async def test_replaced(self) -> None:
        """Accepted clients follow the file, on open connections too; so does the published ConfigMap."""
        clients = [self.client(self.first), self.client(self.second)]
        self.assertEqual([(await each.get("/version")).code for each in clients], [200, 200])
        while await self.published() != 2:
            await deferLater(reactor, POLL_S)
        third = certificates.new_authority("third", datetime.now(UTC))
        self.trust(self.first, third)
        await self.hup()
        clients.append(self.client(third))
        for client in clients[:2]:
            client.close()  # the server has closed their connections already
        self.assertEqual([(await each.get("/version")).code for each in clients], [200, 401, 200])
        while await self.published() != 3:  # what it trusts now, beside what others may trust still
            await deferLater(reactor, POLL_S)

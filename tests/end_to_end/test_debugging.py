"""Debugging endpoints, and certificates by name (reference OPS-19, OPS-27, REQ-26)."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from orchtw.pki import certificates
from orchtw.pki.certificates import Authority
from orchtw.testing.process import ServerProcess
from tests.end_to_end.case import reactor
from tests.end_to_end.client import PATIENCE_S, Client, tls_context
from tests.end_to_end.test_start import ProcessCase

PROFILE = "/debug/pprof/profile?seconds="


class DebuggingTests(ProcessCase):
    """A server that writes JSON, with a certificate for another name."""

    async def started(self, *flags: str) -> ServerProcess:
        """A server with these flags."""
        server = self.server("--bootstrap=false", *flags)
        await server.start()
        return server

    async def until_logged(self, server: ServerProcess, text: str) -> None:
        """Wait until the log has it."""
        while text not in server.log:
            await deferLater(reactor, 0.02)

    async def test_verbosity(self) -> None:
        """A PUT makes the server log requests from then on, in JSON; flags without effect are noted at the start."""
        server = await self.started("--logging-format=json", "--watch-cache=false")
        client = self.client(server)
        await client.get("/version")
        answer = await client.send("PUT", "/debug/flags/v", b"3")
        self.assertEqual((answer.code, answer.body), (200, b"successfully set klog.logging.verbosity to 3"))
        self.assertEqual((await client.get("/healthz")).code, 200)
        await self.until_logged(server, '"URI":"/healthz"')
        lines = [json.loads(line) for line in server.log.splitlines()]
        requests = [line for line in lines if line["msg"] == "HTTP"]
        self.assertEqual([line["URI"] for line in requests], ["/debug/flags/v", "/healthz"])
        self.assertEqual((requests[-1]["resp"], requests[-1]["verb"]), (200, "GET"))
        notes = [line["err"] for line in lines if "has no effect" in line["msg"]]
        self.assertEqual(notes, ["Flag --watch-cache has no effect: All objects are always cached."])

    async def test_rights(self) -> None:
        """Nobody but those who have rights on the paths gets anything; without the flags they are not there."""
        server = await self.started()
        anonymous = Client(server.port, tls_context(server.kubeconfig, certificate=False))
        self.addCleanup(anonymous.close)
        for path in ("/debug/pprof/", f"{PROFILE}1", "/debug/flags/v", "/logs/"):
            self.assertEqual((await anonymous.get(path)).code, 403, path)
        off = await self.started("--profiling=false", "--enable-logs-handler=false")
        for path in ("/debug/pprof/", f"{PROFILE}1", "/debug/flags/v", "/logs/"):
            self.assertEqual((await self.client(off).get(path)).code, 404, path)

    async def test_profile(self) -> None:
        """A profile is made while others are served, and the end of the server ends it."""
        server = await self.started()
        client = self.client(server)
        profile = Deferred.fromCoroutine(client.get(f"{PROFILE}300"))
        while b"Sampler.run" not in (await client.get("/debug/pprof/threads")).body:
            pass
        self.assertEqual((await client.get(f"{PROFILE}1")).code, 500)
        self.assertEqual((await client.get("/healthz")).code, 200)
        self.assertEqual(await server.terminate(), 0)
        answer = await profile
        self.assertEqual((answer.code, b"MainThread;" in answer.body), (200, True))

    async def test_compressed_body(self) -> None:
        """A body that is compressed is read as it is, and cannot be (reference REQ-24)."""
        server = await self.started("--strict-transport-security-directives=max-age=1,preload")
        body = gzip.compress(b'{"metadata":{"name":"a"}}')
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        answer = await self.client(server).send("POST", "/api/v1/namespaces", body, headers)
        self.assertEqual((answer.code, answer.json["reason"]), (400, "BadRequest"))
        self.assertEqual(answer.headers["strict-transport-security"], "max-age=1; preload")

    async def test_certificates_by_name(self) -> None:
        """A client that asks for a name gets its certificate, and the new one after a replacement."""
        authority = certificates.new_authority("names", datetime.now(UTC))
        folder = Path(self.mktemp())
        folder.mkdir()
        first = self.issued(authority, folder)
        server = await self.started(f"--tls-sni-cert-key={folder.absolute()}/crt,{folder.absolute()}/key:*.b.example")
        self.assertEqual(await deferToThread(self.shown, server, "a.b.example"), first)
        self.assertNotEqual(await deferToThread(self.shown, server, "a.example"), first)
        second = self.issued(authority, folder)
        server.signal("HUP")
        while await deferToThread(self.shown, server, "a.b.example") != second:
            await deferLater(reactor, 0.02)

    def issued(self, authority: Authority, folder: Path) -> x509.Certificate:
        """A certificate in that folder, with its key."""
        key = certificates.new_key()
        made = certificates.issue(
            authority, key, "a.example", certificates.SERVER, datetime.now(UTC), hosts=("a.example",)
        )
        (folder / "crt").write_bytes(certificates.pem(made))
        (folder / "key").write_bytes(certificates.key_pem(key))
        return made

    def shown(self, server: ServerProcess, name: str) -> x509.Certificate:
        """Return the certificate that a client gets for this name."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with (
            socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as plain,
            context.wrap_socket(plain, server_hostname=name) as connection,
        ):
            found = connection.getpeercert(binary_form=True)
        assert found is not None
        return x509.load_der_x509_certificate(found)

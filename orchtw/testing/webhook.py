"""HTTPS server for tests of outgoing calls, such as webhooks, in the test's own process.

```python
class MyTests(twisted.trial.unittest.TestCase):
    def setUp(self) -> None:
        self.webhook = WebhookServer(reactor, lambda asked: {"kind": "ConversionReview", ...})
        self.addCleanup(self.webhook.stop)
        client_config = self.webhook.client_config("/convert")
```

It has a CA of its own. It can be slow (return a Deferred), silent, cut off, half-closed, or send arbitrary bytes: see
`Reply`. Arguments make its certificate valid for other hosts or expired.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

from OpenSSL import crypto
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory
from twisted.internet.ssl import Certificate, CertificateOptions, trustRootFromCertificates

from orchtw.config import host_and_port
from orchtw.pki import certificates
from orchtw.testing.webhook_connection import HANG_UP, Answering, Reply, WebhookConnection, WebhookRequest

__all__ = ["HANG_UP", "Answering", "WebhookRequest", "Reply", "WebhookServer"]

LOOPBACK = "127.0.0.1"


class WebhookServer:
    """Server that listens from its creation; `asked` are the requests, `accepted` counts connections.

    Its certificate is for `hosts`, valid for a day, and was issued `age` ago. With `client_ca` (PEM) a client
    certificate is required. With `tls` off it speaks plain HTTP.
    """

    def __init__(
        self,
        reactor: Any,
        answer: Answering,
        *,
        address: str = LOOPBACK,
        port: int = 0,
        hosts: tuple[str, ...] = (LOOPBACK, "localhost"),
        age: timedelta = timedelta(),
        client_ca: bytes = b"",
        tls: bool = True,
    ) -> None:
        self.answer = answer
        self.asked: list[WebhookRequest] = []
        self.accepted = 0
        self._reactor = reactor
        self._address = address
        self._tls = tls
        self._connections: set[WebhookConnection] = set()
        self._made = datetime.now(UTC) - age
        self._authority = certificates.new_authority("webhook-authority", self._made)
        self._options = self._made_options(hosts, client_ca)
        self.port = port
        self._listening: Any = None
        self.start()

    @property
    def url(self) -> str:
        """Return the URL of the server, such as `https://127.0.0.1:40123`."""
        return f"http{'s' if self._tls else ''}://{host_and_port(self._address, self.port)}"

    @property
    def ca_pem(self) -> bytes:
        """Return the CA certificate as PEM."""
        return certificates.pem(self._authority.certificate)

    @property
    def certificate_pem(self) -> bytes:
        """Return the serving certificate as PEM, without the CA."""
        return certificates.pem(self._certificate)

    @property
    def ca_bundle(self) -> str:
        """Return the CA certificate as in `caBundle` fields: PEM in base64."""
        return base64.b64encode(self.ca_pem).decode()

    @property
    def connections(self) -> int:
        """Return the number of open connections."""
        return len(self._connections)

    def client_config(self, path: str = "") -> dict[str, Any]:
        """Return the `clientConfig` of a webhook's configuration."""
        return {"url": self.url + path, "caBundle": self.ca_bundle}

    def start(self) -> None:
        """Listen; after a stop on the same port again."""
        factory = Factory.forProtocol(lambda: WebhookConnection(self))
        factory.noisy = False
        if self._tls:
            self._listening = self._reactor.listenSSL(self.port, factory, self._options, interface=self._address)
        else:
            self._listening = self._reactor.listenTCP(self.port, factory, interface=self._address)
        self.port = self._listening.getHost().port

    def hang_up(self) -> None:
        """Abort all connections, as a restart does, but keep listening."""
        for each in list(self._connections):
            each.transport.abortConnection()

    def stop(self) -> Deferred[None]:
        """Stop listening and close all connections; fires when done. Suitable for addCleanup."""
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        listening, self._listening = self._listening, None
        if listening is not None:
            await listening.stopListening()
        gone = [each.gone for each in self._connections]
        self.hang_up()
        for each in gone:
            await each

    def _made_options(self, hosts: tuple[str, ...], client_ca: bytes) -> CertificateOptions:
        key, day = certificates.new_key(), timedelta(days=1)
        self._certificate = certificates.issue(
            self._authority, key, "webhook", certificates.SERVER, self._made, hosts=hosts, life=day
        )
        roots: dict[str, Any] = {}
        if client_ca:
            authority = Certificate.loadPEM(client_ca)
            roots["trustRoot"] = trustRootFromCertificates([authority])  # type: ignore[no-untyped-call]
        return CertificateOptions(
            privateKey=crypto.PKey.from_cryptography_key(key),
            certificate=crypto.X509.from_cryptography(self._certificate),
            **roots,
        )

    # ReviewServer

    def opened(self, connection: WebhookConnection) -> None:
        """Add an opened connection."""
        self.accepted += 1
        self._connections.add(connection)

    def closed(self, connection: WebhookConnection) -> None:
        """Remove a closed connection."""
        self._connections.discard(connection)

"""An OpenID Connect method and its issuer, over TLS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twisted.internet.task import Clock

from orchtw.authn.oidc import from_flags
from orchtw.config import Config
from orchtw.errors import Unauthorized
from orchtw.request import UserInfo
from tests.authn.hosts import a_host
from tests.authn.issuer import NOW, Issuer
from tests.outbound.test_caller import CallerCase, reactor


class Timed:
    """The reactor, but that time passes only when it is told so."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.seconds = self.clock.seconds
        self.callLater = self.clock.callLater


class OIDCCase(CallerCase):
    """A method and its issuer."""

    def setUp(self) -> None:
        super().setUp()
        self.issuer = Issuer(reactor)
        self.addCleanup(self.issuer.server.stop)
        self.time = Timed()
        self.now = NOW

    async def begin(self, *, ready: bool = True, ca: bytes = b"", **flags: Any) -> None:
        """Start the method; with `ready` until it has keys."""
        file = Path(self.mktemp())
        file.write_bytes(ca or self.issuer.server.ca_pem)
        config = Config.of(
            **{"oidc_issuer_url": self.issuer.url, "oidc_client_id": "client", "oidc_ca_file": file, **flags}
        )
        host = a_host(clock=self.time, caller=self.caller, seconds=lambda: self.now)
        method = from_flags(host, config.authn)
        assert method is not None
        self.method = method
        (self.keys,) = self.services = host.services
        host.services.startService()
        self.addCleanup(host.services.stopService)
        if ready:
            await self.settled(lambda: self.keys.keys)

    async def found(self, token: str) -> Any:
        """The user, None, or why not."""
        try:
            answer = self.method.find(token)
            return answer if answer is None or isinstance(answer, UserInfo) else await answer
        except Unauthorized as refusal:
            return refusal.why

    async def name(self, token: str) -> str:
        """The user's name without its prefix; empty for nobody."""
        found = await self.found(token)
        return found.name.removeprefix(f"{self.issuer.url}#") if isinstance(found, UserInfo) else ""

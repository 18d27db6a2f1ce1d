"""Servers whose authorizers and anonymous requests come from files (reference AUTHN-64, AUTHZ-40)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from twisted.internet import reactor

from tests.emulated import since
from tests.in_process import InProcessServer
from tests.verbs.answered import Case

GROUP = "apiserver.config.orch.io/v1"


NO_CREDENTIALS = {"authorization": ""}


class FileTests(Case):
    async def setUp(self) -> None:  # type: ignore[override]
        self.folder = Path(self.mktemp())
        self.folder.mkdir()

    def written(self, kind: str, **fields: Any) -> Path:
        """Write a configuration file."""
        path = self.folder / kind
        path.write_bytes(orjson.dumps({"apiVersion": GROUP, "kind": kind, **fields}))
        return path

    async def start(self, **anonymous: Any) -> None:
        """Start a server that allows everything, and this to anonymous requests."""
        authn = self.written("AuthenticationConfiguration", **anonymous)
        authz = self.written("AuthorizationConfiguration", authorizers=[{"type": "AlwaysAllow", "name": "all"}])
        self.server = InProcessServer(reactor, self.folder, authentication_config=authn, authorization_config=authz)
        await self.server.start()
        self.addCleanup(self.server.stop)

    @since((1, 31))
    async def test_anonymous_paths(self) -> None:
        """Only the paths of the file may be anonymous, whatever the authorizers of the other file say."""
        await self.start(anonymous={"enabled": True, "conditions": [{"path": "/livez"}]})
        await self.send("GET", "/livez", 200, headers=NO_CREDENTIALS)
        await self.send("GET", "/readyz", 401, headers=NO_CREDENTIALS)
        await self.send("GET", "/api", 401, headers=NO_CREDENTIALS)
        await self.send("GET", "/api/v1/secrets", 200)

    async def test_always_allow(self) -> None:
        """While the file has AlwaysAllow, no request is anonymous unless a file says so (reference AUTHN-39)."""
        await self.start()
        await self.send("GET", "/livez", 401, headers=NO_CREDENTIALS)
        await self.send("GET", "/api/v1/secrets", 200)
        self.written("AuthorizationConfiguration", authorizers=[{"type": "RBAC", "name": "roles"}])
        self.server.instance.base.reloads.run()
        await self.send("GET", "/livez", 200, headers=NO_CREDENTIALS)
        await self.send("GET", "/api/v1/secrets", 403, headers=NO_CREDENTIALS)

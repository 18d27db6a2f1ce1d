"""Servers that serve a part of the API only (reference VER-2, VER-3)."""

from __future__ import annotations

from tests.end_to_end.case import ServerCase, shared_server


class PartialApiTests(ServerCase):
    """`--runtime-config` settings that leave out what the server itself works with."""

    async def setUp(self) -> None:  # type: ignore[override]  # trial awaits it
        """The tests start servers of their own."""

    async def test_without_the_core_group(self) -> None:
        """A server without core resources starts, is ready, and answers 404 for them."""
        for setting in ("api/v1=false", "api/all=false,apps/v1=true", "api/ga=false"):
            self.server = await shared_server(self.mktemp(), f"--runtime-config={setting}")
            client = self.new_client()
            self.assertEqual((await client.get("/readyz")).code, 200, setting)
            self.assertEqual((await client.get("/api/v1/namespaces")).code, 404, setting)
            await self.server.terminate()

"""Stores of earlier versions, which are kept under `tests/fixtures/stores`, open in this one (reference STORE-44)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from orchtw.testing.in_process import InProcessServer
from tests.stores import STORE, files, kept


class OlderStoreTests(TestCase):
    """Each store that is kept, opened by a server of this version."""

    async def opened(self, version: str, vocabulary: str) -> InProcessServer:
        """A server on a copy of a store."""
        folder = Path(self.mktemp())
        folder.mkdir()
        store, _ = files(version, vocabulary)
        (folder / STORE).write_bytes(gzip.decompress(store.read_bytes()))
        (folder / STORE).chmod(0o600)
        server = InProcessServer(reactor, folder, vocabulary=vocabulary)
        await server.start()
        self.addCleanup(server.stop)
        return server

    async def check(self, version: str, vocabulary: str) -> None:
        """Every object is what it was, can be changed, and has a history to watch from."""
        server = await self.opened(version, vocabulary)
        expected: dict[str, Any] = json.loads(files(version, vocabulary)[1].read_text())
        for path, obj in expected.items():
            answer = await server.request("GET", path)
            self.assertEqual((answer.code, answer.json), (200, obj), f"{path} of {version}")
            changes = {"metadata": {"annotations": {"example.com/opened": "by a later version"}}}
            merge = {"content-type": "application/merge-patch+json"}
            changed = await server.request("PATCH", path, changes, merge)
            self.assertEqual(changed.code, 200, changed.body)
            self.assertGreater(
                int(changed.json["metadata"]["resourceVersion"]), int(obj["metadata"]["resourceVersion"])
            )

    async def test_all(self) -> None:
        """The stores of all versions, in both vocabularies."""
        stores = tuple(kept())
        self.assertGreaterEqual(len(stores), 2)
        for version, vocabulary in stores:
            await self.check(version, vocabulary)

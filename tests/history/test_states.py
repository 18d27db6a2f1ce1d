"""Texts of past states, made part by part."""

from __future__ import annotations

from collections.abc import AsyncIterator

from twisted.internet.defer import ensureDeferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import NotFound
from orchtw.history.states import Begun


class BegunTests(SynchronousTestCase):
    """Parts of which the first is made before the answer begins."""

    async def parts(self, *parts: bytes) -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    async def failing(self) -> AsyncIterator[bytes]:
        raise NotFound.of("pods", "", "x")
        yield b""

    def test_order(self) -> None:
        """Each part comes once, empty ones are left out, and then there is nothing."""
        begun = Begun(self.parts(b"", b"a", b"", b"b"))
        self.successResultOf(ensureDeferred(begun.begin()))
        found = [self.successResultOf(ensureDeferred(begun.next())) for _ in range(4)]
        self.assertEqual(found, [b"a", b"b", b"", b""])

    def test_wrong(self) -> None:
        """An error in the first part is raised before there is an answer."""
        self.failureResultOf(ensureDeferred(Begun(self.failing()).begin()), NotFound)

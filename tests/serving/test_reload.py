"""Replacing the serving certificate while the server runs (reference REQ-26)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import ConfigError
from orchtw.serving.reload import INTERVAL_S, CertificateReload


class Tls:
    """Keeps what it is told to serve with."""

    def __init__(self) -> None:
        self.reloaded: list[Any] = []

    def reload(self, options: Any) -> None:
        self.reloaded.append(options)


class CertificateReloadTests(SynchronousTestCase):
    """`CertificateReload`."""

    def setUp(self) -> None:
        self.file = Path(self.mktemp())
        self.file.write_text("one")
        self.tls = Tls()
        self.clock = Clock()
        tls: Any = self.tls
        self.service = CertificateReload(tls, [self.file], self.read, self.clock)
        self.service.startService()
        self.addCleanup(self.service.stopService)

    def read(self) -> Any:
        text = self.file.read_text()
        if text == "bad":
            raise ConfigError("bad")
        if text == "odd":
            raise OverflowError("odd")
        return text

    def replace(self, text: str) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(text)
        os.replace(new, self.file)

    def test_unchanged(self) -> None:
        """Nothing is read again while the file stays."""
        self.clock.advance(INTERVAL_S)
        self.assertEqual(self.tls.reloaded, [])

    def test_replaced(self) -> None:
        """A replaced file is served from the next look on, once."""
        self.replace("two")
        self.clock.advance(INTERVAL_S)
        self.clock.advance(INTERVAL_S)
        self.assertEqual(self.tls.reloaded, ["two"])

    def test_unusable(self) -> None:
        """An unusable file changes nothing, and a later good one does."""
        self.replace("bad")
        self.clock.advance(INTERVAL_S)
        self.assertEqual(self.tls.reloaded, [])
        self.replace("three")
        self.clock.advance(INTERVAL_S)
        self.assertEqual(self.tls.reloaded, ["three"])

    def test_unforeseen(self) -> None:
        """Whatever reading raises is logged once for each state of the files, and ends neither looks nor serving."""
        self.replace("odd")
        self.clock.advance(INTERVAL_S)
        self.clock.advance(INTERVAL_S)
        self.assertEqual(len(self.flushLoggedErrors(OverflowError)), 1)
        self.replace("three")
        self.clock.advance(INTERVAL_S)
        self.assertEqual(self.tls.reloaded, ["three"])

"""Sizes of texts in UTF-8."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.values import utf8


class SizeTests(SynchronousTestCase):
    def test_size(self) -> None:
        """Characters have one to four bytes."""
        for text, size in (("", 0), ("abc", 3), ("é", 2), ("€", 3), ("😀", 4), ("a\ud800", 4)):
            self.assertEqual(utf8.size(text), size, ascii(text))

"""Compressed pages of backends."""

from __future__ import annotations

import gzip
import zlib
from typing import Any, cast

from twisted.trial.unittest import SynchronousTestCase

from orchtw.proxy.backend_body import INFLATED_BYTES, InflatedPage


class Page:
    """A page that passes everything on, and ends with a dot."""

    def feed(self, data: bytes) -> bytes:
        return data

    def end(self) -> bytes:
        return b"."


class InflatedPageTests(SynchronousTestCase):
    """Pages that arrive compressed."""

    def page(self, coding: str) -> InflatedPage:
        return InflatedPage(cast(Any, Page()), coding)

    def test_codings(self) -> None:
        """Pages in gzip and deflate are read, byte by byte too; other codings are not known."""
        for coding, data in (("gzip", gzip.compress(b"text")), ("deflate", zlib.compress(b"text"))):
            page = self.page(coding)
            found = b"".join(page.feed(data[at : at + 1]) for at in range(len(data)))
            self.assertEqual(found + page.end(), b"text.")
        self.assertEqual([InflatedPage.reads(each) for each in ("gzip", "deflate", "br")], [True, True, False])

    def test_bound(self) -> None:
        """A piece that would become too large is refused, and so is one that is not compressed."""
        for data in (gzip.compress(b"0" * (INFLATED_BYTES + 1)), b"text"):
            self.assertRaises(zlib.error, self.page("gzip").feed, data)

"""Response heads as bytes."""

from __future__ import annotations

import locale

from twisted.trial.unittest import SynchronousTestCase

from orchtw.serving.heads import head, http_date


class DateTests(SynchronousTestCase):
    def test_form(self) -> None:
        """The preferred form of RFC 9110 §5.6.7, in Greenwich time; parts of a second are dropped."""
        for seconds, expected in (
            (784111777.9, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (0.0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951782400.0, "Tue, 29 Feb 2000 00:00:00 GMT"),
        ):
            self.assertEqual(http_date(seconds), expected)

    def test_locale(self) -> None:
        """Names of days and months do not follow the locale."""
        before = locale.setlocale(locale.LC_TIME)
        self.addCleanup(locale.setlocale, locale.LC_TIME, before)
        for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "C"):
            try:
                locale.setlocale(locale.LC_TIME, name)
            except locale.Error:
                continue
            self.assertEqual(http_date(784111777.0), "Sun, 06 Nov 1994 08:49:37 GMT")


class HeadTests(SynchronousTestCase):
    FRAMING = "Content-Length: 0\r\n"

    def test_order(self) -> None:
        """Status line, framing, content type, then the headers as they were given; an empty line ends it."""
        self.assertEqual(
            head(201, "application/json", [("B", "1"), ("A", "2")], self.FRAMING),
            b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\nContent-Type: application/json\r\nB: 1\r\nA: 2\r\n\r\n",
        )

    def test_bare(self) -> None:
        """A head needs neither a content type nor headers."""
        self.assertEqual(head(204, "", [], ""), b"HTTP/1.1 204 No Content\r\n\r\n")

    def test_unknown_code(self) -> None:
        """A code without a phrase gets one."""
        self.assertTrue(head(599, "", [], "").startswith(b"HTTP/1.1 599 Unknown\r\n"))

    def test_injection(self) -> None:
        """A line break of any kind in a name, a value or the content type is refused."""
        for breaking in ("a\r\nX: b", "a\nb", "a\rb"):
            for content_type, headers in (
                (breaking, []),
                ("", [("X", breaking)]),
                ("", [(breaking, "x")]),
                ("a/b", [("Y", "z"), ("X", breaking)]),
            ):
                self.assertRaises(ValueError, head, 200, content_type, headers, self.FRAMING)

    def test_other_characters(self) -> None:
        """Characters outside of Latin-1 are replaced."""
        self.assertIn(b"X: \xe4?\r\n", head(200, "", [("X", "ä\u20ac")], ""))

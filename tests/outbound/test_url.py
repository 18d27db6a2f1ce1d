"""URLs as they are asked for (reference HOOK-10)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound.url import asked_url


class AskedURLTests(SynchronousTestCase):
    """URLs as treq sends them."""

    def test_as_they_are(self) -> None:
        """A URL that can be sent is sent as written, whatever the host is called."""
        for text in (
            "https://my_host:1/a",
            "https://[::1]:8443/c?timeout=30s",
            "https://10.0.0.1/",
            "https://a..b/",
            "https://a/%zz?x=%2F;a&b",
        ):
            self.assertEqual(asked_url(text).to_uri().to_text(), text)

    def test_escaped(self) -> None:
        """Characters that cannot be sent are escaped, and host names are IDNA-encoded."""
        for text, sent in (
            ("https://a/b c", "https://a/b%20c"),
            ("https://a/\u00fc", "https://a/%C3%BC"),
            ("https://\u00fc.de/x", "https://xn--tda.de/x"),
        ):
            self.assertEqual(asked_url(text).to_uri().to_text(), sent)

    def test_no_url(self) -> None:
        """An invalid URL raises ValueError."""
        for text in ("https://a:b/", "https://[a/", "https://\u00fc..b/"):
            self.assertRaises(ValueError, asked_url, text)

"""URLs in the form in which they are requested."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, cast

import msgspec
from hyperlink import EncodedURL
from twisted.web.client import URI

_PLAIN: Final = re.compile(r"[\x21-\x7e]+")
_LONGEST_KNOWN: Final = 1024


class _AsItIs(EncodedURL):
    """A URL that treq sends unchanged."""

    written = ""

    def to_uri(self) -> EncodedURL:
        """Return itself: the URL is encoded already."""
        return self

    def to_text(self, with_password: bool = False) -> str:
        """Return the text, which has no password."""
        return self.written


class URLParts(msgspec.Struct, frozen=True):
    """Parts of a URL that a request needs; `target` is path and query."""

    scheme: str
    host: str
    port: int
    target: str


def asked_url(text: str) -> EncodedURL:
    """Encode a URL for treq, with escapes where needed. Raises ValueError for anything but a URL.

    Without this treq rejects unusual hosts, IPv6 addresses and names with underscores among them.
    """
    return _known(text) if len(text) <= _LONGEST_KNOWN else _made(text)


def url_parts(uri: bytes) -> URLParts:
    """Return the parts of a URL that treq sends. Raises ValueError."""
    return _known_parts(uri) if len(uri) <= _LONGEST_KNOWN else _parts(uri)


def _made(text: str) -> EncodedURL:
    if not _PLAIN.fullmatch(text):
        return EncodedURL.from_text(text).to_uri()
    url = cast(_AsItIs, _AsItIs.from_text(text))
    url.written = EncodedURL.to_text(url)
    return url


def _parts(uri: bytes) -> URLParts:
    parts: Any = URI.fromBytes(uri)  # type: ignore[no-untyped-call]
    return URLParts(
        parts.scheme.decode("ascii"), parts.host.decode("ascii"), parts.port, parts.originForm.decode("ascii")
    )


# The same few webhooks are called again and again: the caches save 40 µs of CPU for each call.
_known = lru_cache(512)(_made)
_known_parts = lru_cache(512)(_parts)

"""URLs as they are asked for."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from hyperlink import EncodedURL

_PLAIN: Final = re.compile(r"[\x21-\x7e]+")
_LONGEST_KNOWN: Final = 1024


class _AsItIs(EncodedURL):
    """A URL that treq sends as it is written."""

    def to_uri(self) -> EncodedURL:
        """Return itself: the URL is encoded."""
        return self


def asked_url(text: str) -> EncodedURL:
    """Encode a URL for treq, with escapes where needed. Raises ValueError for anything but a URL.

    Without this treq refuses hosts that are no proper names, IPv6 addresses and names with underscores among them.
    """
    return _known(text) if len(text) <= _LONGEST_KNOWN else _made(text)


def _made(text: str) -> EncodedURL:
    if _PLAIN.fullmatch(text):
        return _AsItIs.from_text(text)
    return EncodedURL.from_text(text).to_uri()


# The same few webhooks are asked again and again: -4 % CPU of a call in bench webhooks.
_known = lru_cache(512)(_made)

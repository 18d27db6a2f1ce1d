"""URLs as they are asked for."""

from __future__ import annotations

import re
from typing import Final

from hyperlink import EncodedURL

_PLAIN: Final = re.compile(r"[\x21-\x7e]+")


class _AsItIs(EncodedURL):
    """A URL that treq sends as it is written."""

    def to_uri(self) -> EncodedURL:
        """The same."""
        return self


def asked_url(text: str) -> EncodedURL:
    """What treq is given for a URL; one that needs escapes gets them. Raises ValueError for what is no URL.

    Without this treq refuses hosts that are no proper names, IPv6 addresses and names with underscores among them.
    """
    if _PLAIN.fullmatch(text):
        return _AsItIs.from_text(text)
    return EncodedURL.from_text(text).to_uri()

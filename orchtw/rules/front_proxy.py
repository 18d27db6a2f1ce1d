"""Headers in which a front proxy passes on the user's identity (reference AGG-5, AUTHN-38)."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from orchtw.request import UserInfo
from orchtw.rules.forwarding import Lines

USER: Final = "X-Remote-User"
UID: Final = "X-Remote-Uid"
GROUP: Final = "X-Remote-Group"
EXTRA: Final = "X-Remote-Extra-"

_NOT_IN_NAMES: Final = re.compile(rb"[^!#$&'*+\-.^_`|~0-9A-Za-z]")


def identity_headers(user: UserInfo, *, uid: bool = False) -> Lines:
    """Return the header lines that name the user, one character per byte as in all headers; `uid`: also its uid."""
    lines = [(USER, _bytes(user.name)), *((GROUP, _bytes(group)) for group in user.groups)]
    if uid and user.uid:
        lines.insert(1, (UID, _bytes(user.uid)))
    for key, values in user.extra.items():
        name = EXTRA + escaped_key(key)
        lines += [(name, _bytes(value)) for value in values]
    return lines


def escaped_key(key: str) -> str:
    """Escape a key of extra attributes for a header name."""
    return _NOT_IN_NAMES.sub(lambda found: b"%%%02X" % found[0][0], key.lower().encode()).decode()


def unescaped_key(name: str) -> str:
    """Return the key of extra attributes, in lower case, from a header name without the prefix `EXTRA`."""
    return unquote(name).lower()


def _bytes(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")

"""Parts of events as JSON that are made once: most requests are the same few clients' (reference AUDIT-22)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, TypeVar

from orchtw.audit.event import text
from orchtw.audit.senders import source_ips, user_agent, user_object
from orchtw.request import Request, UserInfo

MOST: Final = 1000
"""Of each kind; when there are more, all are made anew."""

LONGEST: Final = 4096
"""Bytes of a part that is kept: clients choose their agents, and providers of tokens the groups."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def remember(kept: dict[K, V], key: K, value: V, size: int) -> None:
    """Keep a part of `size` bytes if that is reasonable."""
    if size <= LONGEST:
        if len(kept) >= MOST:
            kept.clear()
        kept[key] = value


class Known:
    """Users and senders, as members of events."""

    def __init__(self) -> None:
        self._users: dict[int, tuple[UserInfo, bytes]] = {}
        """By identity, which authentication keeps; the object is held, so that the number stays its own."""
        self._senders: dict[tuple[str, str], bytes] = {}

    def user(self, user: UserInfo | None) -> bytes:
        """A user as an object."""
        key = id(user)
        found = self._users.get(key)
        if found is not None:
            return found[1]
        made = text(user_object(user))
        if user is not None:
            remember(self._users, key, (user, made), len(made))
        return made

    def sender(self, request: Request) -> bytes:
        """`sourceIPs` and `userAgent`, each behind a comma, as far as they are known."""
        headers = request.headers
        if "x-forwarded-for" in headers or "x-real-ip" in headers:
            return _sender(request)
        key = request.peer.address, headers.get("user-agent", "")
        found = self._senders.get(key)
        if found is None:
            found = _sender(request)
            remember(self._senders, key, found, len(found) + len(key[1]))
        return found


def _sender(request: Request) -> bytes:
    ips, agent = source_ips(request), user_agent(request)
    found = b',"sourceIPs":' + text(ips) if ips else b""
    return found + b',"userAgent":' + text(agent) if agent else found

"""Sender of a request, as events show it: addresses, user agent and user (reference AUDIT-1, AUDIT-16)."""

from __future__ import annotations

import ipaddress
from typing import Final

from orchtw.request import Request, UserInfo, utf8_text
from orchtw.wire.objects import Object

MOST_ADDRESSES: Final = 64
"""Limit of addresses read from X-Forwarded-For, which may be as long as a request's head (reference AUDIT-16)."""

AGENT_CHARACTERS: Final = 1024
_CUT: Final = "...TRUNCATED"


def source_ips(request: Request) -> list[str]:
    """Return X-Forwarded-For, X-Real-Ip if not among those, and the peer if it is not last (reference AUDIT-1)."""
    headers, peer = request.headers, request.peer.address
    if "x-forwarded-for" not in headers and "x-real-ip" not in headers:
        return [peer] if peer else []
    parts = headers.get("x-forwarded-for", "").split(",", MOST_ADDRESSES)[:MOST_ADDRESSES]
    found = [address for part in parts if (address := _address(part))]
    real = _address(headers.get("x-real-ip", ""))
    if real and real not in found:
        found.append(real)
    if peer and (not found or found[-1] != peer):
        found.append(peer)
    return found


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text.strip()))
    except ValueError:
        return ""


def user_agent(request: Request) -> str:
    """Return the User-Agent, cut after AGENT_CHARACTERS (reference AUDIT-16)."""
    agent = request.headers.get("user-agent", "")
    if not agent.isascii():
        agent = utf8_text(agent)
    return agent if len(agent) <= AGENT_CHARACTERS else agent[:AGENT_CHARACTERS] + _CUT


def user_object(user: UserInfo | None) -> Object:
    """Return a user without empty fields; for None, an empty object."""
    if user is None:
        return {}
    shown: Object = {}
    if user.name:
        shown["username"] = user.name
    if user.uid:
        shown["uid"] = user.uid
    if user.groups:
        shown["groups"] = user.groups
    if user.extra:
        shown["extra"] = dict(user.extra)
    return shown

"""Cache of encoded parts of events: most requests come from the same few clients (reference AUDIT-22)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, TypeVar

from orchtw.audit.event import shown
from orchtw.audit.senders import source_ips, user_agent, user_object
from orchtw.request import Request, UserInfo
from orchtw.wire.objects import Object

MOST: Final = 1000
"""Limit of cached entries of each kind; beyond it, the cache starts again."""

LONGEST: Final = 4096
"""Length limit of a cached part in characters: clients choose their agents, and token issuers the groups."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def remember(kept: dict[K, V], key: K, value: V, size: int) -> None:
    """Cache a part of `size` characters, unless it is too long."""
    if size <= LONGEST:
        if len(kept) >= MOST:
            kept.clear()
        kept[key] = value


class Known:
    """Users and senders, as members of events."""

    def __init__(self) -> None:
        self._users: dict[int, tuple[UserInfo, str]] = {}
        """Users by `id()`, since authentication caches them; the object is kept, so that its id is not used again."""
        self._senders: dict[tuple[str, str], str] = {}

    def user(self, user: UserInfo | None) -> str:
        """Return a user as a JSON object."""
        key = id(user)
        found = self._users.get(key)
        if found is not None:
            return found[1]
        made = shown(user_object(user))
        if user is not None:
            remember(self._users, key, (user, made), len(made))
        return made

    def asked(self, request: Request) -> str:
        """Return `requestURI`, `verb` and `user` as JSON members."""
        info, path = request.info, request.path
        uri = shown(f"{path}?{request.query}" if request.query else path)
        verb = f'"{info.verb}"' if info is not None and info.is_resource else shown(request.method.lower())
        return f'"requestURI":{uri},"verb":{verb},"user":{self.user(request.authenticated)}'

    def sender(self, request: Request) -> str:
        """Return `sourceIPs` and `userAgent` as JSON members, each after a comma, as far as they are known."""
        headers = request.headers
        if "x-forwarded-for" in headers or "x-real-ip" in headers:
            return _sender(request)
        key = request.peer.address, headers.get("user-agent", "")
        found = self._senders.get(key)
        if found is None:
            found = _sender(request)
            remember(self._senders, key, found, len(found) + len(key[1]))
        return found


def _sender(request: Request) -> str:
    ips, agent = source_ips(request), user_agent(request)
    found = f',"sourceIPs":{shown(ips)}' if ips else ""
    return f'{found},"userAgent":{shown(agent)}' if agent else found


def named(reference: Object | None) -> str:
    """Return `objectRef` as a JSON member after a comma, or an empty string."""
    return "" if reference is None else f',"objectRef":{shown(reference)}'


def reference(request: Request) -> Object | None:
    """Return the `objectRef` of a resource request, as far as its path says, or None."""
    info = request.info
    if info is None or not info.is_resource:
        return None
    found: Object = {"resource": info.resource}
    if info.namespace:
        found["namespace"] = info.namespace
    if info.name:
        found["name"] = info.name
    if info.group:
        found["apiGroup"] = info.group
    found["apiVersion"] = info.version
    if info.subresource:
        found["subresource"] = info.subresource
    return found


def completed(reference: Object, meta: Object) -> Object:
    """Complete an `objectRef` with what the path did not say, in the order of its members."""
    more = {
        "namespace": meta.get("namespace"),
        "name": meta.get("name"),
        "uid": meta.get("uid"),
        "resourceVersion": meta.get("resourceVersion"),
    }
    found = {**{name: value for name, value in more.items() if value}, **reference}
    order = ("resource", "namespace", "name", "uid", "apiGroup", "apiVersion", "resourceVersion", "subresource")
    return {name: found[name] for name in order if name in found}

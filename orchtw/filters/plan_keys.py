"""Keys of plans: what two requests must have in common to be answered alike but for the name in their paths."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from hashlib import blake2b
from itertools import chain
from typing import Final

from orchtw.request import Request

MOST_CALLERS: Final = 4096
"""Most callers that are kept; beyond it the oldest is forgotten, and known as another when it comes again."""

LONGEST: Final = 1024
"""Characters of a path and a query that a plan is made for."""

_SLASHES: Final[Mapping[str, tuple[int, ...]]] = {"/api/": (4, 6), "/apis": (5, 7)}
"""Slashes in the path of a named object, by how it begins: without and with a namespace."""

_PLAIN: Final = re.compile(r"/[A-Za-z0-9./:_-]+")
"""Paths that mean what they say: nothing in them is decoded."""

plain_name: Final = re.compile(r"[A-Za-z0-9.:_-]+").fullmatch
"""Matches names that mean what they say, in a path and in JSON."""

_LED: Final = re.compile(
    r"(?P<before>/(?:api|apis/[A-Za-z0-9.-]+)/[A-Za-z0-9]+/(?:namespaces/[A-Za-z0-9.:_-]+/)?[A-Za-z0-9.-]+)"
    r"(?:/(?P<name>[A-Za-z0-9.:_-]+)(?P<after>/[A-Za-z]+)?)?"
).fullmatch
"""Paths of collections, objects and sub-resources in which nothing is decoded."""

_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
_DOTS: Final = frozenset({".", ".."})
_LENGTH: Final = "content-length"


class Caller:
    """The sender of equal heads: equal header lines, from one address, with one certificate.

    The certificate is held, so that no other can come to be taken for it.
    """

    __slots__ = ("certificate",)

    def __init__(self, certificate: object) -> None:
        self.certificate = certificate


Key = tuple[Caller, str, str]
"""Caller, collection and query."""

Place = tuple[Caller, str, str, str | None, str]
"""Caller, method, path up to the name, path from its end on, and query. Without a name the path is in one piece."""


class PlanKeys:
    """The callers of this process. Equal ones are one object, as long as they are kept."""

    def __init__(self) -> None:
        self._secret = os.urandom(32)
        self._callers: dict[tuple[bytes, str, int, bool], Caller] = {}

    def known(self, request: Request) -> Key | None:
        """Return the key of the plan that may exist for a request, or None if no plan can exist.

        Whether a plan can be made is a longer question: see `of`.
        """
        same, path = request.same_head, request.path
        if request.method != "GET" or request.body:
            return None
        if same is not None and same.caller is not None:
            return same.caller, path[: path.rfind("/") + 1], request.query
        return self.of(request)

    def of(self, request: Request) -> Key | None:
        """Return the key of a GET of a named object, to judge by its path; None: no plan is made for it."""
        path, query = request.path, request.query
        if path.count("/") not in _SLASHES.get(path[:5], ()) or len(path) + len(query) > LONGEST:
            return None
        if request.method != "GET" or request.body or _PLAIN.fullmatch(path) is None:
            return None
        same = request.same_head
        caller: Caller | None = None if same is None else same.caller
        if caller is None:
            caller = self._caller(request)
            if caller is None:
                return None
        return caller, path[: path.rindex("/") + 1], query

    def place(self, request: Request) -> tuple[Place, str] | None:
        """Return the place of the short line that may exist for a request, and the name in its path, if it has one.

        None: there can be no such line. Pages of lists have none, for none is asked for twice.
        """
        path, query, method = request.path, request.query, request.method
        found = _LED(path) if method in _METHODS and len(path) + len(query) <= LONGEST else None
        if found is None or "continue=" in query or (method == "GET" and request.body):
            return None
        caller = None if request.same_head is None else request.same_head.caller
        if caller is None:
            caller = self._caller(request)
            if caller is None:
                return None
        before, name, after = found.groups()
        if name is None:
            return (caller, method, path, None, query), ""
        return None if name in _DOTS else ((caller, method, f"{before}/", after or "", query), name)

    def _caller(self, request: Request) -> Caller | None:
        """Return the caller by all header lines, credentials among them; None for heads that differ each time.

        The length of a body is not the caller's.
        """
        headers, peer = request.headers, request.peer
        if request.repeated or "audit-id" in headers:
            return None
        if _LENGTH in headers:
            headers = {name: text for name, text in headers.items() if name != _LENGTH}
        text = "\n".join(chain.from_iterable(headers.items()))
        if text.count("\n") != max(2 * len(headers) - 1, 0):
            return None
        # Only a keyed digest is kept, as of tokens: no dump of the memory holds one.
        digest = blake2b(text.encode("utf-8", "surrogatepass"), key=self._secret, digest_size=32).digest()
        shown = digest, peer.address, id(peer.certificate), peer.verified
        caller = self._callers.get(shown)
        if caller is None:
            if len(self._callers) >= MOST_CALLERS:
                del self._callers[next(iter(self._callers))]
            caller = self._callers[shown] = Caller(peer.certificate)
        if request.same_head is not None:
            request.same_head.caller = caller
        return caller

"""Requests that are asked again and again: what a handler offers for their plans (see `filters.plan`)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec

from orchtw.request import Request, Response

Body = Callable[[str], bytes | None]
"""Returns the body of the 200 for the object of this name; None: the request has to go the whole way."""


class EqualGets(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A handler's knowledge of equal requests: `body` answers while all of `stands` report that nothing changed."""

    stands: Sequence[Callable[[], bool]]
    body: Body


class EqualCalls(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A handler's knowledge of requests that differ by name and body: `run` is their verb, with what they have in
    common at hand, while all of `stands` report that nothing changed.
    """

    stands: Sequence[Callable[[], bool]]
    run: Callable[[Request], Coroutine[Any, Any, Response]]

"""Answers to requests that are asked again and again: what a handler offers for a plan (see `filters.plan`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

Body = Callable[[str], bytes | None]
"""Returns the body of the 200 for the object of this name; None: the request has to go the whole way."""


class EqualGets(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A handler's knowledge of equal requests: `body` answers while all of `stands` report that nothing changed."""

    stands: Sequence[Callable[[], bool]]
    body: Body

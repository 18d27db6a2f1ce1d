"""Full reads below a prefix, page by page at one revision; the next page is fetched while one is processed.

For each page a cluster counts all keys of the requested range, though it sends few of them: a third of a
microsecond for each. Large ranges are therefore cut into spans, which takes one read of their keys.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from twisted.internet.defer import Deferred

from orchtw.storage.store import KeyValue, Page

FIRST_PAGE: Final = 50
MOST_A_PAGE: Final = 1000
PAGE_BYTES: Final = 2 << 20
"""Bytes of a page: a few milliseconds' work."""

SPAN_KEYS: Final = 10_000
"""Limit of the keys counted for a page: some milliseconds' work of a member."""

Ask = Callable[..., Awaitable[Any]]
"""Function that reads a range at a revision."""


class Scan:
    """One scan of the keys from `first` to `end`, as of `revision` (0: the latest)."""

    def __init__(
        self, ask: Ask, shown: Callable[[Any], KeyValue | None], first: bytes, end: bytes, revision: int
    ) -> None:
        self._ask = ask
        self._shown = shown
        self._first = first
        self._end = end
        self._revision = revision
        self._bound = end  # of the span
        self._beyond = 0  # keys that follow the span
        self._spanned = True
        self._limit = FIRST_PAGE

    async def pages(self) -> AsyncIterator[Page]:
        """Yield the pages of the scan, requesting each while the one before is processed."""
        following: Deferred[Page] | None = Deferred.fromCoroutine(self._page())
        try:
            while following is not None:
                page = await following
                following = Deferred.fromCoroutine(self._page()) if page.more else None
                yield page
        finally:
            if following is not None:
                following.addErrback(lambda _failure: None)

    async def _page(self) -> Page:
        if not self._spanned:
            await self._span()
        found = await self._ask(self._revision, key=self._first, range_end=self._bound, limit=self._limit)
        self._revision = self._revision or found.header.revision
        rest = found.count - len(found.kvs)
        if rest:
            self._first = found.kvs[-1].key + b"\0"
        else:
            self._first = self._bound
        self._spanned = 0 < rest <= SPAN_KEYS
        if found.kvs:
            item_bytes = max(1, found.ByteSize() // len(found.kvs))
            self._limit = max(1, min(MOST_A_PAGE, PAGE_BYTES // item_bytes))
        items = [item for item in map(self._shown, found.kvs) if item is not None]
        left = rest + self._beyond
        return Page(items, self._revision, left > 0, left)

    async def _span(self) -> None:
        """Find the end of the next span."""
        found = await self._ask(
            self._revision, key=self._first, range_end=self._end, limit=SPAN_KEYS, keys_only=True
        )
        self._beyond = found.count - len(found.kvs)
        self._bound = found.kvs[-1].key + b"\0" if self._beyond else self._end
        self._spanned = True

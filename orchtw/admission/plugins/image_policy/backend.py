"""Backend of image reviews, with a cache of its responses (reference PLUG-52, PLUG-85)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from twisted.internet.defer import DeferredSemaphore, TimeoutError

from orchtw.admission.plugins.image_policy.review import ImageVerdict, review, verdict_of
from orchtw.admission.plugins.image_policy.settings import ImagePolicySettings
from orchtw.authn.shared_calls import SharedCalls
from orchtw.outbound.caller import LATE, CallFailed

KEPT: Final = 1024
"""Limit of cached responses; the least recently used are dropped first."""

KEPT_BYTES: Final = 4096
"""Size limit of a cached response in bytes, which bounds the memory of the cache."""

ANSWER_BYTES: Final = 256 * 1024
"""Size limit of a response, which is a few words."""

CALLS: Final = 100
"""Limit of concurrent calls, one connection each; further ones wait."""

WAIT_S: Final = 30.0
"""Longest wait for such a call to end, so that calls to a hanging backend do not pile up."""

Ask = Callable[[bytes], Awaitable[bytes]]
"""Sends a review to the backend and returns the response, both as JSON. Raises CallFailed."""


class ImageBackend:
    """Image review backend. Concurrent calls with the same key are made once. `ask` retries by itself."""

    def __init__(self, ask: Ask, settings: ImagePolicySettings, api_version: str, clock: Any) -> None:
        self._ask = ask
        self._settings = settings
        self._api_version = api_version
        self._clock = clock
        self._kept: dict[bytes, tuple[float, ImageVerdict]] = {}
        self._calls: SharedCalls[bytes, ImageVerdict] = SharedCalls()
        self._seats = DeferredSemaphore(CALLS)

    def __len__(self) -> int:
        return len(self._kept)

    async def verdict(self, key: bytes, spec: bytes) -> ImageVerdict:
        """Return the verdict on a review's spec, cached by `key`. Raises CallFailed and BadResponse."""
        known = self._kept.pop(key, None)
        if known is not None and known[0] > self._clock.seconds():
            self._kept[key] = known
            return known[1]
        return await self._calls.result(key, lambda: self._asked(key, spec))

    async def _asked(self, key: bytes, spec: bytes) -> ImageVerdict:
        try:
            await self._seats.acquire().addTimeout(WAIT_S, self._clock)
        except TimeoutError:
            raise CallFailed(LATE) from None
        try:
            answer = await self._ask(review(spec, self._api_version))
        finally:
            self._seats.release()
        verdict = verdict_of(answer, self._api_version)
        for_s = self._settings.allow_ttl_s if verdict.allowed else self._settings.deny_ttl_s
        if for_s > 0 and len(answer) <= KEPT_BYTES:
            if len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = self._clock.seconds() + for_s, verdict
        return verdict

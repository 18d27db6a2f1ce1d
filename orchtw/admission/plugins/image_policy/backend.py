"""Asks the backend about images, and remembers what it says (reference PLUG-52, PLUG-85)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from twisted.internet.defer import DeferredSemaphore, TimeoutError

from orchtw.admission.plugins.image_policy.review import ImageVerdict, review, verdict_of
from orchtw.admission.plugins.image_policy.settings import ImagePolicySettings
from orchtw.authn.shared_calls import SharedCalls
from orchtw.outbound.caller import LATE, CallFailed

KEPT: Final = 1024
"""Answers that are remembered; of too many those that were used least recently go first."""

KEPT_BYTES: Final = 4096
"""Of an answer: a larger one is not remembered, so that the memory has a bound."""

ANSWER_BYTES: Final = 256 * 1024
"""Of an answer, which is a few words."""

CALLS: Final = 100
"""At a time; further questions wait. Each is a connection."""

WAIT_S: Final = 30.0
"""For one's turn to ask: a backend that hangs does not gather questions without end."""

Ask = Callable[[bytes], Awaitable[bytes]]
"""The backend's answer to a review, both as JSON. Raises CallFailed."""


class ImageBackend:
    """Image review backend. Equal questions at the same time share a call. `ask` retries by itself."""

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
        """Return the cached or new verdict on a question, whose key is `key`. Raises CallFailed and BadAnswer."""
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

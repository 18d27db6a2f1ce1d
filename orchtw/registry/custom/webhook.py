"""Conversion of objects by a webhook: in batches, a few calls at a time (reference CRD-24, CRD-42)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, Protocol

import orjson
from twisted.internet.defer import Deferred, DeferredSemaphore, FirstError, gatherResults

from orchtw.naming.naming import Naming
from orchtw.registry.custom.review import ConversionFailed, Review
from orchtw.registry.offload import Compute
from orchtw.rules.webhook_clients import REVIEW_VERSIONS
from orchtw.schema.codec.codec import Codec

BATCH_OBJECTS: Final = 500
BATCH_BYTES: Final = 1 << 20
"""Bytes of one review: its answer is parsed in one go, which takes some ten milliseconds a megabyte."""

CALLS_AT_A_TIME: Final = 32
"""Concurrent calls for one kind: more would only wait in the webhook."""

BATCHES_AT_A_TIME: Final = 4
"""Concurrent batches of one list, so that it leaves room for others."""

ANSWER_BYTES: Final = 16 << 20
"""Bytes of one answer. Conversion may make an object larger, but not without limit."""

TIMEOUT_S: Final = 30.0


class CallLost(Exception):
    """Error: a webhook has not answered, for the reason in the text."""


Call = Callable[[bytes], Awaitable[bytes]]
"""The webhook's answer to a review, both as JSON. Raises CallLost."""


class Converter(Protocol):
    """Converter of objects of one kind to another version."""

    async def convert(self, texts: Sequence[bytes], wanted: Codec) -> list[bytes]:
        """Return whole objects as JSON in the wanted version, from any others. Raises ConversionFailed."""


class WebhookConverter:
    """See `Converter`. `reviews` are the versions of reviews that the webhook understands, the best first."""

    def __init__(
        self, call: Call, reviews: Sequence[str], run: Compute, new_uid: Callable[[], str], naming: Naming
    ) -> None:
        self._call = call
        self._version = next((version for version in reviews if version in REVIEW_VERSIONS), "")
        self._run = run
        self._new_uid = new_uid
        self._naming = naming
        self._turn = DeferredSemaphore(CALLS_AT_A_TIME)

    async def convert(self, texts: Sequence[bytes], wanted: Codec) -> list[bytes]:
        batches = list(_batches(texts))
        if len(batches) == 1:
            return await self._in_turn(batches[0], wanted)
        few = DeferredSemaphore(BATCHES_AT_A_TIME)
        running = [Deferred.fromCoroutine(self._in_turn(batch, wanted, few)) for batch in batches]
        try:
            return [text for found in await gatherResults(running, consumeErrors=True) for text in found]
        except FirstError as first:
            first.subFailure.raiseException()
            raise
        finally:
            for each in reversed(running):  # those first that have not begun
                each.cancel()

    async def _in_turn(
        self, texts: Sequence[bytes], wanted: Codec, few: DeferredSemaphore | None = None
    ) -> list[bytes]:
        """Convert one batch, when its list and its kind have room for another call."""
        if few is not None:
            await few.acquire()
        try:
            await self._turn.acquire()
            try:
                return await self._one(texts, wanted)
            finally:
                self._turn.release()
        finally:
            if few is not None:
                few.release()

    async def _one(self, texts: Sequence[bytes], wanted: Codec) -> list[bytes]:
        if not self._version:
            raise ConversionFailed("no supported conversion review versions")
        review = Review(
            version=self._version,
            uid=self._new_uid(),
            desired=wanted.api_version,
            kind=wanted.kind,
            objects=texts,
            naming=self._naming,
        )
        try:
            answer = await self._call(review.body())
        except CallLost as problem:
            raise ConversionFailed(f"{review.subject} failed: {problem}") from None
        return await self._run(len(answer) + review.size, lambda: _finished(review, answer, wanted))


def _finished(review: Review, answer: bytes, wanted: Codec) -> list[bytes]:
    """Return the objects of an answer, pruned by the schema of their version. Raises ConversionFailed."""
    try:
        return [orjson.dumps(wanted.pruned(obj)) for obj in review.converted(answer)]
    except RecursionError:
        raise ConversionFailed(f"{review.subject} failed: nested too deeply") from None


def _batches(texts: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Yield batches as large as a review takes, of at least one object."""
    begin = size = 0
    for position, text in enumerate(texts):
        if position > begin and (size + len(text) > BATCH_BYTES or position - begin >= BATCH_OBJECTS):
            yield texts[begin:position]
            begin, size = position, 0
        size += len(text)
    yield texts[begin:]

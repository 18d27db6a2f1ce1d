"""Runs of evaluations: in a thread if they may take long, and again for each answer of the authorizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from orchtw.admission.attributes import Attributes
from orchtw.admission.policies.rights import Rights, Undecided
from orchtw.registry.offload import INLINE_BYTES
from orchtw.schema.cel.evaluation import Meter, TooLong

T = TypeVar("T")

INLINE_STEPS: Final = 200_000
"""Steps that one write may take while other requests wait: some 20 ms."""


class Runs:
    """Runs of the evaluations about one write; `inline` counts the steps that they may take on the reactor."""

    def __init__(self, rights: Rights, attributes: Attributes) -> None:
        self.rights = rights
        self.attributes = attributes
        self.inline = Meter(INLINE_STEPS)

    async def run(self, work: Callable[[Meter], T], size_bytes: int = 0) -> T:
        """Return the result of `work`, which runs again when a question is answered, or, in a thread, if it is long.

        `size_bytes`: of the object that it copies. Raises what `work` raises, and TooManyRequests (429).
        """
        attributes = self.attributes
        while True:
            try:
                if size_bytes <= INLINE_BYTES:
                    return work(self.inline)
                return await attributes.surface.run(size_bytes, lambda: work(Meter()))
            except TooLong:
                size_bytes = max(attributes.size_bytes, INLINE_BYTES + 1)
            except Undecided as question:
                await self.rights.answer(question.question)

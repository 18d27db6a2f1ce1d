"""Request number n of a seed: which kind it is, and out of what it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from orchtw.schema.catalogue import ResourceType
from tests.fuzz import extensions, reads, writes
from tests.fuzz.case import Case
from tests.fuzz.draw import Draw
from tests.fuzz.surface import Surface

_KINDS: dict[Callable[[Draw, ResourceType], Case], float] = {
    writes.create: 24,
    writes.update: 12,
    writes.patch: 24,
    writes.delete: 6,
    writes.subresource: 10,
    writes.review: 1.5,
    writes.large: 0.03,
    extensions.define: 2.5,
    extensions.redefine: 2,
    extensions.undefine: 0.15,
    extensions.api_service: 0.7,
    reads.get: 8,
    reads.collect: 8,
    reads.watch: 0.7,
    reads.other: 4,
    reads.no_http: 0.4,
}
_MAKERS, _WEIGHTS = tuple(_KINDS), tuple(_KINDS.values())


class Cases:
    """The requests of one seed against one vocabulary; the `kept` ones come first, each by itself."""

    def __init__(self, surface: Surface, seed: str, kept: Iterable[Case] = ()) -> None:
        self.label = f"fuzz-{seed}"
        self.kept = iter(kept)
        self._surface = surface
        self._seed = seed

    def case(self, number: int) -> Case:
        """Request `number`: it depends on nothing but the seed."""
        random = Random(f"{self._seed}:{number}")
        draw = Draw(self._surface, random)
        make = random.choices(_MAKERS, _WEIGHTS)[0]
        return make(draw, draw.resource())

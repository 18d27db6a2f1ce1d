"""Order of webhooks: configurations by name, and the webhooks of one as it lists them (reference HOOK-6)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Generic, Protocol, TypeVar

from orchtw.admission.webhooks.hook import Configuration, Hook


class Named(Protocol):
    """A compiled configuration, known by the name of its object."""

    @property
    def name(self) -> str:
        """Return the object's name."""


Compiled = TypeVar("Compiled", bound=Named)
_name = attrgetter("name")


class ByName(Generic[Compiled]):
    """Compiled configurations, in the order of their names."""

    def __init__(self) -> None:
        self._by_name: dict[str, Compiled] = {}
        self._sorted: list[Compiled] = []

    def __len__(self) -> int:
        return len(self._sorted)

    @property
    def all(self) -> Sequence[Compiled]:
        """Return the configurations in order."""
        return self._sorted

    def named(self, name: str) -> Compiled | None:
        """Return a configuration, or None."""
        return self._by_name.get(name)

    def put(self, name: str, made: Compiled | None) -> None:
        """Put the configuration of that name in its place, or remove it if it is None."""
        before = self._by_name.pop(name, None)
        if before is not None:
            self._sorted.remove(before)
        if made is not None:
            self._by_name[name] = made
            insort(self._sorted, made, key=_name)


def in_call_order(configurations: Iterable[Configuration], plural: str) -> Iterator[Hook]:
    """Yield the webhooks with a rule that names a resource; `configurations` are in the order of their names."""
    for each in configurations:
        yield from each.naming(plural)

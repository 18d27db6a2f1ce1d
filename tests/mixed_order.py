"""Order in which `trial -j` hands out tests: those that wait for processes and time among those that compute.

In the order of their names the workers would wait side by side, with the processors idle, for half of the time of the
end-to-end tests, and compete for the processors in the rest. Within each half the order stays that of the names.

A worker gets the tests of a class together: what they share, such as a server, a browser or a store, is made once.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, groupby, takewhile
from typing import Any

WAITING = ("tests.bench.", "tests.end_to_end.", "tests.fuzz.", "tests.storage.etcd.", "tests.test_", "tests.testing.")
"""Beginnings of the ids of tests that mostly wait."""

_DISTRIBUTOR = "twisted.trial._dist.disttrial"

Group = list[Any]
"""The tests of one class."""


def grouped(tests: Iterable[Any]) -> list[Group]:
    """Return the tests by class, with the classes that wait spread evenly among the others."""
    halves: tuple[list[Group], list[Group]] = ([], [])
    for _, members in groupby(tests, type):
        group = list(members)
        halves[group[0].id().startswith(WAITING)].append(group)
    places = [place for half in halves for place in _placed(half)]
    return [group for _, group in sorted(places, key=lambda place: place[0])]


def _placed(groups: list[Group]) -> Iterator[tuple[float, Group]]:
    """Yield each group with the place of its middle among all tests of these groups, from 0 to 1."""
    ends = list(accumulate(map(len, groups)))
    yield from (((end - len(group) / 2) / ends[-1], group) for end, group in zip(ends, groups, strict=True))


class HandedOut:
    """Tests for workers, each of which iterates over this and gets the next group when its last one is done."""

    def __init__(self, goes_on: Callable[[Any], bool], tests: Iterable[Any]) -> None:
        self._goes_on = goes_on
        self._groups = deque(grouped(tests))

    def __iter__(self) -> Iterator[Any]:
        return takewhile(self._goes_on, self._next_ones())

    def _next_ones(self) -> Iterator[Any]:
        while self._groups:
            yield from self._groups.popleft()


def mix_tests() -> None:
    """Have `trial -j`, if this process is one, hand out the tests in that order."""
    distributor: Any = sys.modules.get(_DISTRIBUTOR)
    if distributor is not None:
        distributor.takeWhile = HandedOut

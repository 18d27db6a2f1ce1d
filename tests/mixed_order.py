"""Order in which `trial -j` hands out tests: those that wait for processes and time among those that compute.

In the order of their names the workers would wait side by side, with the processors idle, for half of the time of the
end-to-end tests, and compete for the processors in the rest. Within each half the order stays that of the names, so
that tests of a class share its servers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

WAITING = ("tests.bench.", "tests.end_to_end.", "tests.fuzz.", "tests.storage.etcd.", "tests.test_", "tests.testing.")
"""Beginnings of the ids of tests that mostly wait."""

_DISTRIBUTOR = "twisted.trial._dist.disttrial"


def mixed(tests: Iterable[Any]) -> list[Any]:
    """Spread the tests that wait evenly among the others."""
    halves: tuple[list[Any], list[Any]] = ([], [])
    for test in tests:
        halves[test.id().startswith(WAITING)].append(test)
    places = [((at + 0.5) / len(half), test) for half in halves for at, test in enumerate(half)]
    return [test for _, test in sorted(places, key=lambda place: place[0])]


def mix_tests() -> None:
    """Have `trial -j`, if this process is one, hand out the tests in that order."""
    distributor: Any = sys.modules.get(_DISTRIBUTOR)
    if distributor is None or hasattr(distributor, "_in_order"):
        return
    distributor._in_order = in_order = distributor._iterateTests

    def iterate(suite: Any) -> Iterator[Any]:
        return iter(mixed(in_order(suite)))

    distributor._iterateTests = iterate

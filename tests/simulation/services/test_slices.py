"""Slices of wanted endpoints with as few writes as possible (reference SIM-71)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.services.backends import Port
from orchtw.simulation.services.slices import Group, plan
from orchtw.wire.objects import Object
from tests.properties import examples

GROUP: Group = ("IPv4", (Port("", 80, "TCP"),))
MOST = 4


def endpoint(number: int, ready: bool = True) -> Object:
    """An endpoint with an address of that number."""
    return {"addresses": [f"10.0.0.{number}"], "conditions": {"ready": ready}}


def found(name: str, numbers: list[int]) -> Object:
    """A slice of GROUP."""
    endpoints = [endpoint(number) for number in numbers]
    ports = [{"port": 80, "protocol": "TCP"}]
    return {"metadata": {"name": name}, "addressType": "IPv4", "ports": ports, "endpoints": endpoints}


class PlanTests(SynchronousTestCase):
    """Plans for one group."""

    def test_fills(self) -> None:
        """New endpoints go into slices with room, or into a new slice if all are full."""
        made = plan({GROUP: [endpoint(number) for number in range(6)]}, [found("x", [0, 1, 2])], MOST)
        ((_, filled),) = made.update
        ((_, new),) = made.create
        self.assertEqual((len(filled), len(new), made.delete), (4, 2, []))

    def test_left_alone(self) -> None:
        """A slice whose endpoints are wanted as they are is not written; one without wanted ones is deleted."""
        made = plan({GROUP: [endpoint(1)]}, [found("x", [1]), found("y", [2])], MOST)
        gone = [each["metadata"]["name"] for each in made.delete]
        self.assertEqual((made.create, made.update, gone), ([], [], ["y"]))

    def test_changed(self) -> None:
        """An endpoint that changes stays in its slice."""
        made = plan({GROUP: [endpoint(1, ready=False), endpoint(2)]}, [found("x", [1, 2])], MOST)
        ((_, endpoints),) = made.update
        self.assertEqual(endpoints[0]["conditions"], {"ready": False})

    def test_empty(self) -> None:
        """A group that is wanted without endpoints has one empty slice, which is then left alone."""
        self.assertEqual(plan({GROUP: []}, [], MOST).create, [(GROUP, [])])
        made = plan({GROUP: []}, [found("x", []), found("y", [])], MOST)
        deleted = [each["metadata"]["name"] for each in made.delete]
        self.assertEqual((made.create, made.update, deleted), ([], [], ["y"]))

    def test_reuses(self) -> None:
        """A slice that is not wanted any more takes the ports and endpoints of one that is missing."""
        other: Group = ("IPv4", (Port("", 81, "TCP"),))
        made = plan({other: [endpoint(1)]}, [found("x", [1])], MOST)
        ((reused, endpoints),) = made.update
        self.assertEqual((made.create, made.delete, endpoints), ([], [], [endpoint(1)]))
        self.assertEqual((reused["metadata"]["name"], reused["ports"]), ("x", [{"port": 81, "protocol": "TCP"}]))

    def test_other_address_type(self) -> None:
        """A slice keeps its address type, which cannot change."""
        made = plan({("IPv6", GROUP[1]): [endpoint(1)]}, [found("x", [1])], MOST)
        self.assertEqual((len(made.create), len(made.update), len(made.delete)), (1, 0, 1))

    @examples(200)
    @given(st.sets(st.integers(0, 30)), st.lists(st.sets(st.integers(0, 30), min_size=1, max_size=MOST), max_size=6))
    def test_result(self, wanted: set[int], slices: list[set[int]]) -> None:
        """After the writes every wanted endpoint is in one slice, no other is, and no slice is too large."""
        taken: set[int] = set()
        present = []
        for number, each in enumerate(slices):
            present.append(found(f"s{number}", sorted(each - taken)))
            taken |= each
        made = plan({GROUP: [endpoint(number) for number in sorted(wanted)]}, present, MOST)
        written = {id(each): endpoints for each, endpoints in made.update}
        gone = {id(each) for each in made.delete}
        after: list[Any] = [written.get(id(each), each["endpoints"]) for each in present if id(each) not in gone]
        after += [endpoints for _, endpoints in made.create]
        addresses = [each["addresses"][0] for endpoints in after for each in endpoints]
        self.assertEqual(sorted(addresses), sorted(f"10.0.0.{number}" for number in wanted))
        self.assertTrue(all(0 < len(endpoints) <= MOST for endpoints in after) if wanted else len(after) == 1)

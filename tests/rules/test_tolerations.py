"""Tolerations that cover others (reference PLUG-80)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.tolerations import MOST, Cover, merged
from orchtw.wire.objects import Object
from tests.properties import examples

EVERYTHING = {"operator": "Exists"}


def one(key: str = "a", **more: Any) -> Object:
    """A toleration of a key."""
    return {"key": key, **more}


EXISTS = one(operator="Exists")
EQUAL = one(operator="Equal", value="x")

COVERS: list[tuple[Object, Object, bool]] = [
    (EXISTS, EXISTS, True),
    (EXISTS, EQUAL, True),
    (EQUAL, EXISTS, False),
    (EQUAL, one(value="x"), True),
    (EQUAL, one(operator="Equal", value="y"), False),
    (EVERYTHING, EXISTS, True),
    (EVERYTHING, one("b", operator="Equal", value="x", effect="NoExecute", tolerationSeconds=5), True),
    (EXISTS, EVERYTHING, False),
    (EXISTS, one("b", operator="Exists"), False),
    (EXISTS, {**EXISTS, "effect": "NoSchedule"}, True),
    ({**EXISTS, "effect": "NoSchedule"}, EXISTS, False),
    ({**EXISTS, "effect": "NoSchedule"}, {**EXISTS, "effect": "NoExecute"}, False),
    ({"operator": "Exists", "effect": "NoSchedule"}, {**EQUAL, "effect": "NoSchedule"}, True),
    (
        {**EXISTS, "effect": "NoExecute", "tolerationSeconds": 5},
        {**EXISTS, "effect": "NoExecute", "tolerationSeconds": 4},
        True,
    ),
    (
        {**EXISTS, "effect": "NoExecute", "tolerationSeconds": 5},
        {**EXISTS, "effect": "NoExecute", "tolerationSeconds": 6},
        False,
    ),
    ({**EXISTS, "effect": "NoExecute", "tolerationSeconds": 5}, {**EXISTS, "effect": "NoExecute"}, False),
    ({**EXISTS, "effect": "NoExecute"}, {**EXISTS, "effect": "NoExecute", "tolerationSeconds": 6}, True),
    (one(operator="Nope"), one(operator="Equal"), False),
]

MERGED: list[tuple[list[Object], list[Object], list[Object]]] = [
    ([], [], []),
    ([EXISTS], [], [EXISTS]),
    ([EQUAL], [EXISTS], [EXISTS]),
    ([EXISTS], [EQUAL], [EXISTS]),
    ([EQUAL, EQUAL], [EQUAL], [EQUAL]),
    ([EQUAL], [one("b", operator="Exists")], [EQUAL, one("b", operator="Exists")]),
    ([one("b", operator="Exists"), EXISTS, EQUAL], [EVERYTHING], [EVERYTHING]),
]

TOLERATIONS = st.fixed_dictionaries(
    {},
    optional={
        "key": st.sampled_from(["a", "b"]),
        "operator": st.sampled_from(["Exists", "Equal"]),
        "value": st.sampled_from(["x", "y"]),
        "effect": st.sampled_from(["NoSchedule", "NoExecute"]),
        "tolerationSeconds": st.integers(0, 2),
    },
)


class TolerationTests(SynchronousTestCase):
    def test_covers(self) -> None:
        """One covers another whose key, effect, value and time are among its own."""
        for wide, narrow, expected in COVERS:
            self.assertEqual(Cover([wide]).covers(narrow), expected, (wide, narrow))

    def test_merged(self) -> None:
        """A toleration that another covers is left out, wherever that stands; of equal ones the first stays."""
        for first, second, expected in MERGED:
            self.assertEqual(merged(first, second), expected)

    @examples(200)
    @given(st.lists(TOLERATIONS, max_size=6), st.lists(TOLERATIONS, max_size=6))
    def test_nothing_is_lost(self, first: list[Object], second: list[Object]) -> None:
        """Merging keeps what is tolerated, in order, and merging again changes nothing."""
        both = [*first, *second]
        found = merged(first, second)
        self.assertTrue(all(Cover(found).covers(each) for each in both))
        left = iter(both)
        self.assertTrue(all(any(each == other for other in left) for each in found))
        self.assertEqual(merged(found, []), found)

    def test_bound(self) -> None:
        """So many that it would take long are not merged."""
        many = [one(str(number)) for number in range(MOST + 1)]
        error = self.assertRaises(ValueError, merged, many, [])
        self.assertEqual(str(error), "at most 1000 tolerations can be merged, not 1001")

"""Fields whose feature gate is off."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.registry.dormant import DROPPED, EACH, drop_dormant, plan_of
from orchtw.schema.nodes import Field, ListSchema, MapSchema, Scalar, StructSchema

INNER = StructSchema(
    "Inner", [Field(name="old", node=Scalar.STRING), Field(name="new", node=Scalar.STRING, dormant=True)]
)
KIND = StructSchema(
    "Kind",
    [
        Field(name="one", node=INNER),
        Field(name="many", node=ListSchema(INNER)),
        Field(name="named", node=MapSchema(INNER)),
        Field(name="plain", node=Scalar.STRING),
        Field(name="gone", node=Scalar.STRING, dormant=True),
    ],
)
PLAN = plan_of(KIND)
BOTH = {"old": "a", "new": "b"}
LEFT = {"old": "a"}


class DormantTests(SynchronousTestCase):
    def dropped(self, new: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
        drop_dormant(new, old, PLAN)
        return new

    def test_plan(self) -> None:
        """The plan holds dormant fields and the way to them, and nothing else (reference KIND-91)."""
        inner = {"new": DROPPED}
        self.assertEqual(PLAN, {"one": inner, "many": {EACH: inner}, "named": {EACH: inner}, "gone": DROPPED})

    def test_create(self) -> None:
        """A new object loses its dormant fields at every depth (reference KIND-91)."""
        new = {"one": dict(BOTH), "many": [dict(BOTH), dict(LEFT)], "named": {"x": dict(BOTH)}, "gone": "c"}
        self.assertEqual(self.dropped(new), {"one": LEFT, "many": [LEFT, LEFT], "named": {"x": LEFT}})

    def test_stored_fields_stay(self) -> None:
        """A field that the stored object has anywhere at its path stays (reference KIND-91)."""
        old = {"many": [dict(LEFT), dict(BOTH)]}
        self.assertEqual(self.dropped({"many": [dict(BOTH)], "gone": "c"}, old), {"many": [BOTH]})

    def test_parts_are_copied(self) -> None:
        """A part that changes is replaced by a copy, one that does not stays the same object."""
        changed, same = dict(BOTH), dict(LEFT)
        new: dict[str, Any] = {"one": changed, "many": [same]}
        kept = new["many"]
        self.dropped(new)
        self.assertEqual(changed, BOTH)
        self.assertIs(new["many"], kept)

    def test_shared_parts(self) -> None:
        """Parts that both objects share stay as they are, whatever is dropped beside them."""
        old: dict[str, Any] = {"one": dict(BOTH), "many": [dict(LEFT)], "plain": "x"}
        new = {**old, "named": {"x": dict(BOTH)}, "gone": "c"}
        self.assertEqual(self.dropped(new, old), {**old, "named": {"x": LEFT}})
        self.assertIs(new["one"], old["one"])
        self.assertEqual(old["one"], BOTH)

    def test_odd_values(self) -> None:
        """Absent and null parts are left alone."""
        odd: dict[str, Any] = {"one": None, "many": [], "plain": "x"}
        self.assertEqual(self.dropped(dict(odd)), odd)

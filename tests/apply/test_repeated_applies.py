"""Applies that change nothing, again and again (reference APPLY-23)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as some
from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply import repeated_applies
from orchtw.apply.repeated_applies import RepeatedApplies
from orchtw.errors import Conflict
from orchtw.wire.objects import Object
from tests.apply.test_field_manager import FIRST, LATER, config_map, field_manager, live_of
from tests.properties import examples

DATA = some.dictionaries(some.sampled_from("abc"), some.sampled_from("12"), max_size=2)
APPLIES = some.lists(
    some.tuples(some.sampled_from(["one", "two"]), some.booleans(), DATA, some.booleans()), min_size=4, max_size=12
)


class RepeatedAppliesTests(SynchronousTestCase):
    @examples(80)
    @given(APPLIES)
    def test_same_outcomes(self, applies: list[tuple[str, bool, dict[str, str], bool]]) -> None:
        """Whatever is applied to an object as it changes, outcomes are those of a manager without memory.

        Admission may restore what an apply changes: then the object stays, and the apply comes again.
        """
        plain, remembering = field_manager(), field_manager(repeated=RepeatedApplies())
        live, version = live_of(config_map({"a": "1"})), 7
        for manager, force, data, stays in (each for each in applies for _ in range(4 if each[3] else 1)):
            outcomes: list[Any] = []
            for fields in (plain, remembering):
                try:
                    found = fields.on_apply(live, config_map(data), manager, LATER, force=force)
                except Conflict as error:
                    outcomes.append(error.message)
                else:
                    outcomes.append((found.changed, found.obj))
            self.assertEqual(outcomes[0], outcomes[1])
            if type(outcomes[1]) is tuple and outcomes[1][0] and not stays:
                version += 1
                live = live_of(outcomes[1][1], str(version))

    def test_not_merged_again(self) -> None:
        """A repeated apply is not merged; that of another manager, object, revision or text is."""
        fields = field_manager(repeated=RepeatedApplies())
        merges: list[str] = []
        merged = fields._merged

        def counted(*args: Any) -> Any:
            merges.append("merge")
            return merged(*args)

        self.patch(fields, "_merged", counted)
        first = fields.on_apply(None, config_map({"a": "1"}), "one", FIRST)
        live = live_of(first.obj)

        def apply(live: Object, data: dict[str, str], manager: str = "one", *, force: bool = False) -> int:
            merges.clear()
            fields.on_apply(live, config_map(data), manager, LATER, force=force)
            return len(merges)

        self.assertEqual([apply(live, {"a": "1"}) for _ in range(3)], [1, 0, 0])
        self.assertEqual(apply(live, {"a": "1"}, force=True), 1)
        self.assertEqual(apply(live, {"a": "1"}, "two"), 1)
        self.assertEqual(apply(live, {"a": "2"}), 1)
        later = live_of(first.obj, "8")
        self.assertEqual([apply(later, {"a": "1"}) for _ in range(2)], [1, 0])

    def test_changes_known(self) -> None:
        """An apply whose changes do not stay is merged twice; then its outcome is known, with the time of each."""
        fields = field_manager(repeated=RepeatedApplies())
        data = {"a": "1", "b": "2"}
        live = live_of(fields.on_apply(None, config_map(data), "one", FIRST).obj)
        live["data"] = {"a": "1", "b": "other"}
        found = []
        for second in range(4):
            if second == 2:
                self.patch(fields, "_merged", None)
            outcome = fields.on_apply(live, config_map(data), "one", f"2026-01-01T00:00:0{second}Z")
            self.assertEqual(outcome.obj["data"], data)
            outcome.obj["data"]["a"] = "3"  # which is the write's own
            found.append(outcome.obj["metadata"]["managedFields"][0]["time"][-2])
        self.assertEqual((found, live["data"]["b"]), (["0", "1", "2", "3"], "other"))

    def test_bounded_parts(self) -> None:
        """Changed parts are kept up to a number of bytes; larger ones are not."""
        self.patch(repeated_applies, "MAX_PARTS_BYTES", 30)
        known, live = RepeatedApplies(), {"a": "", "b": ""}
        keys = [("uid", str(number), "one", False, b"digest") for number in range(3)]
        for key, text in zip(keys, ("x" * 10, "y" * 10, "z" * 40), strict=True):
            for _ in range(2):
                known.add_changed(key, live, {"a": text, "b": ""})
        self.assertEqual([known.changes(key) for key in keys], [{"a": "x" * 10}, {"a": "y" * 10}, None])
        for _ in range(3):
            known.add_changed(keys[2], live, {"a": "z" * 20, "b": ""})
        self.assertEqual([known.changes(key) for key in keys], [None, None, {"a": "z" * 20}])

    def test_bounded(self) -> None:
        """A full cache is cleared."""
        self.patch(repeated_applies, "REMEMBERED", 3)
        known = RepeatedApplies()
        keys = [("uid", str(number), "one", False, b"digest") for number in range(4)]
        for key in keys:
            known.add(key)
        self.assertEqual([known.changes(key) for key in keys], [None, None, None, {}])

    def test_not_stored(self) -> None:
        """An object without an identity, and a configuration without a text, are not cached."""
        self.assertIsNone(RepeatedApplies.key({"metadata": {"name": "a"}}, {}, "one", force=False))
        self.assertIsNone(RepeatedApplies.key(live_of(config_map()), {"a": 1 << 70}, "one", force=False))

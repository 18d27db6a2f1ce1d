"""Scheduling terms of a pod."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.registry.groups.core.scheduling_terms import check_pod_term, check_toleration


class SchedulingTermTests(SynchronousTestCase):
    def test_keys_need_a_selector(self) -> None:
        """Keys of labels are added to a selector, which must be there; none is in both lists (reference KIND-96)."""
        (cause,) = check_pod_term({"topologyKey": "zone", "mismatchLabelKeys": ["a"]}, None)
        text = "must not be specified when labelSelector is not set"
        self.assertEqual(str(cause), f"mismatchLabelKeys: Forbidden: {text}")
        term = {"labelSelector": {}, "matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"]}
        (cause,) = check_pod_term(term, None)
        self.assertIn("exists in both matchLabelKeys and mismatchLabelKeys", cause.message)

    def test_tolerations(self) -> None:
        """A toleration of every key has operator Exists (reference KIND-36)."""
        self.assertEqual(check_toleration({"operator": "Exists"}, None), [])
        (cause,) = check_toleration({"operator": "Equal"}, None)
        self.assertEqual(cause.field, "operator")

    def test_comparisons(self) -> None:
        """With the gate, a toleration compares an integer; without it, the operators are unknown (KIND-36)."""
        for value, count in (("10", 0), ("-1", 0), ("01", 1), ("", 1), ("x", 1), (str(1 << 63), 1), ("1" * 5000, 1)):
            toleration = {"key": "a", "operator": "Gt", "value": value}
            causes = check_toleration(toleration, None, compares=True)
            self.assertEqual([cause.field for cause in causes], ["value"] * count, value[:9])
        (cause,) = check_toleration({"key": "a", "operator": "Lt", "value": "1"}, None)
        self.assertEqual(cause.message, 'Unsupported value: "Lt": supported values: "Equal", "Exists"')

"""Rules of selectors, configurations and tolerations, each alone (reference KIND-94)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.registry.groups.resource.selectors import (
    MAX_CONFIGURATIONS,
    MAX_SELECTORS,
    configuration_causes,
    selector_causes,
    toleration_causes,
)

OPAQUE = {"opaque": {"driver": "d.example.com", "parameters": {}}}


def fine(expression: str) -> tuple[str, bool]:
    return "", False


class SelectorTests(SynchronousTestCase):
    def test_selectors(self) -> None:
        """A selector needs an expression, which may have 10240 bytes."""
        good = {"cel": {"expression": "x" * 10240}}
        self.assertEqual(selector_causes([good], "s", fine), [])
        found = selector_causes([{}, {"cel": {}}, {"cel": {"expression": "x" * 10241}}], "s", fine)
        self.assertEqual(
            [(each.field, each.reason) for each in found],
            [
                ("s[0].cel", "FieldValueRequired"),
                ("s[1].cel.expression", "FieldValueRequired"),
                ("s[2].cel.expression", "FieldValueTooLong"),
            ],
        )

    def test_expressions(self) -> None:
        """An expression that does not compile is invalid; one that may cost too much is forbidden."""
        selectors = [{"cel": {"expression": text}} for text in ("bad", "costly")]
        found = selector_causes(selectors, "s", lambda text: ("why" if text == "bad" else "", text == "costly"))
        self.assertEqual(
            [(each.field, each.reason) for each in found],
            [("s[0].cel.expression", "FieldValueInvalid"), ("s[1].cel.expression", "FieldValueForbidden")],
        )

    def test_number(self) -> None:
        """Neither list may have more than 32 entries."""
        selector = {"cel": {"expression": "true"}}
        self.assertEqual(selector_causes([selector] * MAX_SELECTORS, "s", fine), [])
        self.assertEqual([each.field for each in selector_causes([selector] * 33, "s", fine)], ["s"])
        self.assertEqual(configuration_causes([OPAQUE] * MAX_CONFIGURATIONS, "c"), [])
        self.assertEqual([each.field for each in configuration_causes([OPAQUE] * 33, "c")], ["c"])

    def test_configurations(self) -> None:
        """A configuration needs parameters, which are an object of 10240 bytes at most."""
        large = {"opaque": {"parameters": {"a": "x" * 10240}}}
        found = configuration_causes([OPAQUE, {}, {"opaque": {}}, large, {"opaque": {"parameters": [1]}}], "c")
        fields = ["c[1].opaque", *(f"c[{place}].opaque.parameters" for place in (2, 3, 4))]
        self.assertEqual([each.field for each in found], fields)

    def test_tolerations(self) -> None:
        """Operators and effects are known ones; Exists has no value and Equal has a key."""
        good = [{"operator": "Exists"}, {"operator": "Equal", "key": "k", "effect": "NoExecute"}]
        self.assertEqual(toleration_causes(good, "t"), [])
        bad = [{}, {"operator": "Exists", "value": "v"}, {"operator": "Equal"}, {"operator": "Exists", "effect": "x"}]
        fields = ["t[0].operator", "t[1].value", "t[2].key", "t[3].effect"]
        self.assertEqual([each.field for each in toleration_causes(bad, "t")], fields)

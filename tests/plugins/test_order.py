"""Places of plugins among the built-in ones."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.plugins import AdmissionPlugin
from orchtw.plugins.order import admission_order, anchored, misplaced_admission

BUILT_IN = ("First", "MutatingAdmissionWebhook", "Last")


def plugin(**places: Any) -> AdmissionPlugin:
    return AdmissionPlugin(make=lambda *_: None, **places)


class AdmissionOrderTests(SynchronousTestCase):
    def test_places(self) -> None:
        """A plugin is placed beside its anchor, else before the webhooks (reference EXT-5)."""
        plugins = {"A": plugin(after="First"), "B": plugin(before="First"), "C": plugin(), "D": plugin(after="Last")}
        self.assertEqual(
            admission_order(BUILT_IN, plugins), ("B", "First", "A", "C", "MutatingAdmissionWebhook", "Last", "D")
        )

    def test_beside_a_plugin(self) -> None:
        """An anchor may be another plugin, whichever comes first in the order of names (reference EXT-5)."""
        plugins = {"A": plugin(before="B"), "B": plugin(after="Last"), "C": plugin(after="A")}
        self.assertEqual(admission_order(BUILT_IN, plugins), (*BUILT_IN, "A", "C", "B"))

    def test_circle(self) -> None:
        """Plugins that are placed only beside each other have no place (reference EXT-5)."""
        plugins = {"A": plugin(before="B"), "B": plugin(before="A")}
        self.assertEqual(admission_order(BUILT_IN, plugins), BUILT_IN)
        self.assertEqual(len(misplaced_admission(BUILT_IN, plugins)), 2)


class AnchoredTests(SynchronousTestCase):
    def test_places(self) -> None:
        """A method is placed before the one it names, else at the end (reference EXT-5)."""
        self.assertEqual(anchored(["x", "y"], {"a": "", "b": "y", "c": "x"}), ["c", "x", "b", "y", "a"])

"""Order in which webhooks are called (reference HOOK-6)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.webhooks.hook import Configuration
from orchtw.admission.webhooks.order import ByName, in_call_order
from tests.admission.webhooks.hooks import configuration, rule, webhook


class OrderTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.order: ByName[Configuration] = ByName()

    def put(self, name: str, *hooks: str) -> None:
        self.order.put(name, configuration(name, *(webhook(rule("pods"), name=f"{hook}.b.c") for hook in hooks)))

    def names(self) -> str:
        return "".join(hook.name[0] for hook in in_call_order(self.order.all, "pods"))

    def test_by_name(self) -> None:
        """Configurations are called by name, whenever they came, and their webhooks as listed."""
        self.put("z", "a")
        self.put("b", "d", "c")
        self.assertEqual(self.names(), "dca")

    def test_changes(self) -> None:
        """A configuration that changes takes the place of its former state, and a removed one is not called."""
        self.put("b", "x")
        self.put("c", "y")
        self.put("b", "z")
        self.assertEqual((self.names(), len(self.order)), ("zy", 2))
        self.order.put("b", None)
        self.order.put("unknown", None)
        self.assertEqual((self.names(), len(self.order)), ("y", 1))

"""Refusals of creates in a namespace that is being deleted (reference ERR-21)."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.trial.unittest import SynchronousTestCase

from orchtw.client.namespace_end import ends_with_namespace
from orchtw.errors import Forbidden
from orchtw.wire.objects import Object


class NamespaceEndTests(SynchronousTestCase):
    def test_cause(self) -> None:
        """The cause tells such a refusal from others."""
        causes: Sequence[Object] = [{"reason": "NamespaceTerminating"}]
        self.assertTrue(ends_with_namespace(Forbidden("no", {"causes": causes})))
        self.assertFalse(ends_with_namespace(Forbidden("no")))

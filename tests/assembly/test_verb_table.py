"""Functions of all verbs, by verb and sub-resource."""

from __future__ import annotations

from typing import Any, cast
from unittest.mock import Mock

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.verb_table import equal_calls, object_verbs
from orchtw.registry.targets import Targets
from tests.client.world import surface

_, CATALOGUE, CODECS = surface("orch")
NONE, READING = cast(Any, None), cast(Any, Mock())


class VerbTableTests(SynchronousTestCase):
    """The tables beside the catalogue, which says what each resource allows."""

    def test_objects(self) -> None:
        """Every verb of every stored resource has its function; only gets are answered at once."""
        known = set(object_verbs(READING, NONE, Mock(), NONE))
        stored = Targets(CATALOGUE, CODECS, CATALOGUE.resources).served()
        self.assertEqual({verb for target in stored for verb in target.resource.verbs} - known, set())
        self.assertEqual(set(equal_calls(READING)), {"get"})

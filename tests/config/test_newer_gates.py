"""Gates of the features that came after release 1.24."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.config.newer_gates import NEWER_GATES
from orchtw.config.releases import FIRST, LAST, release_of
from orchtw.schema.declarations import files


class NewerGatesTests(SynchronousTestCase):
    def test_releases(self) -> None:
        """Each gate is of a release after 1.24, up to the newest that is known (reference OPS-23)."""
        wrong = {name: gate.since for name, gate in NEWER_GATES.items() if not FIRST < gate.since <= LAST}
        self.assertEqual(wrong, {})

    def test_alpha_is_off(self) -> None:
        """No alpha feature is on by default (reference KIND-91)."""
        self.assertEqual([name for name, gate in NEWER_GATES.items() if gate.stage == "alpha" and gate.on], [])

    def test_gates_of_fields(self) -> None:
        """Each newer field of the protos has gates that are known, and not later than itself (reference KIND-90)."""
        wrong = set()
        for file in files():
            for message in file.messages:
                for field in message.fields():
                    options = field.options
                    for name in options.feature_gate.split(",") if options.since and options.feature_gate else ():
                        gate = NEWER_GATES.get(name)
                        since = release_of(options.since)
                        if gate is None or (since > FIRST and gate.since > since):
                            wrong.add((message.full_name, field.name, name))
        self.assertEqual(wrong, set())

"""A server whose definitions nobody looks after: they stay as a test writes them, and serve nothing."""

from __future__ import annotations

from tests.verbs.served import ServedCase


class UnattendedCase(ServedCase):
    """Tests of definitions alone."""

    def setUp(self) -> None:
        """Nobody else writes the definitions."""
        super().setUp()
        assert self.server.instance.definitions is not None
        self.server.instance.definitions.stopService()

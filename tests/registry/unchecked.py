"""Objects from before the rules of their kinds, which a store may hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from orchtw.registry.strategy import Strategy


@contextmanager
def without_rules() -> Iterator[None]:
    """Within, nothing of an object is checked but its metadata."""
    with (
        patch.object(Strategy, "validate_content", lambda self, obj, old: []),
        patch.object(Strategy, "validate_sent", lambda self, new, old, sent: []),
    ):
        yield

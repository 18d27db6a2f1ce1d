"""The node group."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.defaults.quantities import round_up


def fill_runtime_class(runtime_class: Object) -> None:
    """Amounts."""
    round_up(runtime_class.get("overhead"), "podFixed")

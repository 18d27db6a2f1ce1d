"""Strategy of custom resource definitions."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.defaults.apiextensions import fill_stored_versions
from orchtw.registry.strategy import Strategy


class DefinitionStrategy(Strategy):
    """A new definition's status says at once which version its objects are stored in (facts, defaults.json)."""

    def reset_status(self, obj: Object) -> None:
        super().reset_status(obj)
        fill_stored_versions(obj)

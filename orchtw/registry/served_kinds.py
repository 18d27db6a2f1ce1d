"""Index of the served resources by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchtw.registry.targets import Targets
from orchtw.schema.catalogue import ResourceType

Kinds = Mapping[tuple[str, str], Sequence[ResourceType]]


class ServedKinds:
    """Index that is made on demand, and again when resources have come or gone."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._known: Kinds | None = None
        targets.listen(self._forget)

    def find(self, api_version: str, kind: str) -> Sequence[ResourceType]:
        """Return the resources whose objects are of the kind in this version, mostly one."""
        if self._known is None:
            self._known = self._made()
        return self._known.get((api_version, kind), ())

    def _forget(self) -> None:
        self._known = None

    def _made(self) -> Kinds:
        found: dict[tuple[str, str], list[ResourceType]] = {}
        for resource in self._targets.resources:
            found.setdefault((resource.api_version, resource.kind), []).append(resource)
        return found

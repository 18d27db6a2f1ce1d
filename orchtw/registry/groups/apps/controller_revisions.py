"""Controller revisions: what a controller remembers of an earlier template."""

from __future__ import annotations

from orchtw.errors import Cause
from orchtw.naming import Naming
from orchtw.objects import Object
from orchtw.registry.kind import Kind
from orchtw.rules.causes import required
from orchtw.schema.tables import cells_workloads


def validate_controller_revision(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """There is something to remember, be it an empty object."""
    return [required("data", "data is mandatory")] if new.get("data") is None else []


CONTROLLER_REVISION = Kind(
    group="apps",
    kind="ControllerRevision",
    validate=validate_controller_revision,
    cells=cells_workloads.controller_revision,
)

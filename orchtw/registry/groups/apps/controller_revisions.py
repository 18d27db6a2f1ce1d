"""Controller revisions: earlier templates that a controller remembers."""

from __future__ import annotations

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.schema.tables import cells_workloads
from orchtw.values.causes import required
from orchtw.wire.objects import Object


def validate_controller_revision(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that data is there, be it an empty object."""
    return [required("data", "data is mandatory")] if new.get("data") is None else []


CONTROLLER_REVISION = KindRecord(
    group="apps",
    kind="ControllerRevision",
    validate=validate_controller_revision,
    cells=cells_workloads.controller_revision,
)

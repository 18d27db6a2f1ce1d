"""Events: stored in the core group, and served through their own, too."""

from __future__ import annotations

from orchtw.registry.kind import Kind
from orchtw.rules.names import PATH_SEGMENT_NAME
from orchtw.schema.conversion.events import EVENT_CONVERSIONS
from orchtw.schema.tables import cells_core

EVENT = Kind(
    group="",
    kind="Event",
    create_on_update=True,
    owns=False,
    name_form=PATH_SEGMENT_NAME,
    conversions=EVENT_CONVERSIONS,
    cells=cells_core.event,
)

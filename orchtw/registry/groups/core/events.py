"""Events: stored in the core group, and served through their own, too."""

from __future__ import annotations

from orchtw.registry.groups.core.event_validation import validate_event, validate_sent_event
from orchtw.registry.kind import KindRecord
from orchtw.schema.conversion.events import EVENT_CONVERSIONS
from orchtw.schema.tables import cells_core
from orchtw.values.names import PATH_SEGMENT_NAME

EVENT = KindRecord(
    group="",
    kind="Event",
    create_on_update=True,
    collected=False,
    name_form=PATH_SEGMENT_NAME,
    validate=validate_event,
    validate_sent=validate_sent_event,
    conversions=EVENT_CONVERSIONS,
    ttl_s=lambda options: options.event_ttl_s,
    cells=cells_core.event,
)

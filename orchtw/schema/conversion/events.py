"""Events, served through the core group and through their own; stored as core v1 (reference VER-14)."""

from __future__ import annotations

from orchtw.naming.naming import Naming
from orchtw.schema.conversion.convert import Conversions
from orchtw.wire.objects import Object


def core_event_to_events(core: Object, naming: Naming) -> Object:
    """Return the event with the field names of the events group."""
    return {
        "kind": core["kind"],
        "apiVersion": core["apiVersion"],
        "metadata": core["metadata"],
        "eventTime": core.get("eventTime"),
        **_series(core, with_zeros=True),
        **_texts(core, reportingComponent="reportingController"),
        **_texts(core, reportingInstance="reportingInstance", action="action", reason="reason"),
        "regarding": core.get("involvedObject") or {},
        **_texts(core, related="related", message="note", type="type"),
        "deprecatedSource": core.get("source") or {},
        "deprecatedFirstTimestamp": core.get("firstTimestamp"),
        "deprecatedLastTimestamp": core.get("lastTimestamp"),
        **_texts(core, count="deprecatedCount"),
    }


def events_event_to_core(event: Object, naming: Naming) -> Object:
    """Return the event with the field names of the core group."""
    return {
        "kind": event["kind"],
        "apiVersion": event["apiVersion"],
        "metadata": event["metadata"],
        "involvedObject": event.get("regarding") or {},
        **_texts(event, reason="reason", note="message"),
        "source": event.get("deprecatedSource") or {},
        "firstTimestamp": event.get("deprecatedFirstTimestamp"),
        "lastTimestamp": event.get("deprecatedLastTimestamp"),
        **_texts(event, deprecatedCount="count", type="type"),
        "eventTime": event.get("eventTime"),
        **_series(event, with_zeros=False),
        **_texts(event, action="action", related="related"),
        "reportingComponent": event.get("reportingController", ""),
        "reportingInstance": event.get("reportingInstance", ""),
    }


def _texts(obj: Object, **names: str) -> Object:
    """Return the non-zero fields of `names`, renamed."""
    return {new: obj[old] for old, new in names.items() if obj.get(old)}


def _series(obj: Object, *, with_zeros: bool) -> Object:
    """Return `series`, whose count is left out when zero unless `with_zeros`."""
    series = obj.get("series")
    if series is None:
        return {}
    count = series.get("count", 0)
    shown = {"count": count} if count or with_zeros else {}
    return {"series": {**shown, "lastObservedTime": series.get("lastObservedTime")}}


EVENT_CONVERSIONS = Conversions(
    {
        ("v1", "events.orch.io/v1"): core_event_to_events,
        ("v1", "events.orch.io/v1beta1"): core_event_to_events,
        ("events.orch.io/v1", "v1"): events_event_to_core,
        ("events.orch.io/v1beta1", "v1"): events_event_to_core,
    }
)

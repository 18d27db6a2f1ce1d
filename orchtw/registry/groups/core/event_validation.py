"""Validation of events: rules for all, and those for events of their own group (reference KIND-31)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.traits import Sent
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values import utf8
from orchtw.values.causes import Literal, go_time, invalid, required
from orchtw.values.go_literals import Form, as_number, as_text, shown, struct
from orchtw.values.names import dns_subdomain, qualified_name
from orchtw.wire.objects import Object

_LONGEST_TEXT: Final = 128  # bytes
_LONGEST_MESSAGE: Final = 1024
_ELSEWHERE: Final = "does not match event.namespace"
_TYPES: Final = ("Normal", "Warning")
_TO_BE_UNSET: Final = ("firstTimestamp", "lastTimestamp", "count")
_SHORT_TEXTS: Final = ("reportingInstance", "action", "reason")

_TIMES: Final = frozenset({"firstTimestamp", "lastTimestamp", "eventTime"})
_REFERENCE: Final = struct(
    "core.ObjectReference",
    Kind=("kind", as_text), Namespace=("namespace", as_text), Name=("name", as_text), UID=("uid", as_text),
    APIVersion=("apiVersion", as_text), ResourceVersion=("resourceVersion", as_text),
    FieldPath=("fieldPath", as_text),
)  # fmt: skip
_FORMS: Final[Mapping[str, Form]] = {
    "involvedObject": _REFERENCE,
    "source": struct("core.EventSource", Component=("component", as_text), Host=("host", as_text)),
    "count": as_number,
}
"""Forms of non-text fields in causes."""

_KEPT: Final = {
    **{name: name for name in ("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp")},
    **{name: name for name in ("count", "type", "eventTime", "action", "related")},
    "reportingComponent": "reportingController",
    "reportingInstance": "reportingInstance",
}
"""Fields that an update may not change, and their names in causes, the same for all versions."""


def validate_event(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate an event in each version; one with eventTime needs more about its reporter."""
    namespace = new["metadata"].get("namespace", "")
    causes = [invalid("namespace", namespace, text) for text in dns_subdomain(namespace)]
    about = (new.get("involvedObject") or {}).get("namespace", "")
    timed = bool(new.get("eventTime"))
    if about:
        matches = about == namespace or timed
    else:
        matches = namespace in ("", naming.default_namespace) or (timed and namespace == naming.system_namespace)
    if not matches:
        causes.append(invalid("involvedObject.namespace", about, _ELSEWHERE))
    return causes + _check_reporter(new) if timed else causes


def validate_sent_event(new: Object, old: Object | None, sent: Sent, naming: Naming) -> list[Cause]:
    """Validate writes through the events group, but for its beta version."""
    if not sent.resource.group or sent.resource.version != "v1":
        return []
    return _check_new(new) if old is None else _check_change(new, old)


def _check_reporter(event: Object) -> list[Cause]:
    reporter = event.get("reportingComponent", "")
    causes = [] if reporter else [required("reportingController")]
    causes += [invalid("reportingController", reporter, text) for text in qualified_name(reporter)]
    for name in _SHORT_TEXTS:
        text = event.get(name, "")
        if not text:
            causes.append(required(name))
        causes += _check_length(name, text, _LONGEST_TEXT)
    return causes + _check_length("message", event.get("message", ""), _LONGEST_MESSAGE)


def _check_length(name: str, text: str, limit: int) -> list[Cause]:
    return [invalid(name, "", f"can have at most {limit} characters")] if utf8.size(text) > limit else []


def _check_new(event: Object) -> list[Cause]:
    name = event["metadata"].get("name", "")
    causes = [invalid("metadata.name", name, text) for text in dns_subdomain(name)]
    causes += _check_series(event)
    if not event.get("eventTime"):
        causes.append(required("eventTime"))
    kind = event.get("type", "")
    if kind not in _TYPES:
        causes.append(invalid("type", "", f"has invalid value: {kind[:_LONGEST_TEXT]}"))
    unset = [name for name in _TO_BE_UNSET if event.get(name)]
    source = event.get("source") or {}
    if source.get("component") or source.get("host"):
        unset.append("source")
    return causes + [invalid(name, "", "needs to be unset") for name in unset]


def _check_series(event: Object) -> list[Cause]:
    series = event.get("series")
    if series is None:
        return []
    causes = [] if series.get("count", 0) >= 2 else [invalid("series.count", "", "should be at least 2")]
    if not series.get("lastObservedTime"):
        causes.append(required("series.lastObservedTime"))
    return causes


def _check_change(new: Object, old: Object) -> list[Cause]:
    """Return the causes for changed fields other than the series, which counts repetitions."""
    causes = _check_series(new) if new.get("series") != old.get("series") else []
    return causes + [
        invalid(place, _shown(name, new.get(name)), IMMUTABLE)
        for name, place in _KEPT.items()
        if _or_none(new.get(name)) != _or_none(old.get(name))
    ]


def _shown(name: str, value: Any) -> Any:
    if name in _TIMES:
        return go_time(value or "")
    if name == "related":
        return shown(_REFERENCE, value)
    return Literal(_FORMS.get(name, as_text)(value))


def _or_none(value: Any) -> Any:
    """Return the value, or None if it is empty."""
    return value or None

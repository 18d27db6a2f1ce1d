"""Records, states and differences as lines of JSON."""

from __future__ import annotations

from typing import Any

from orchtw.audit.event import stamp, text
from orchtw.errors import StatusError
from orchtw.history.query import RecordQuery, verb_of
from orchtw.history.resource import RecordedResource
from orchtw.history.ring import Record, RecordedFault, RecordedWrite
from orchtw.wire.objects import Object


class Unreadable(Exception):
    """Error about a stored value that cannot be decoded; the text is the reason."""


def record_line(record: Record, query: RecordQuery) -> bytes:
    """Return a record as a line; empty if its object shows that it is not wanted."""
    if isinstance(record, RecordedFault):
        return _line(_fault(record))
    resource, origin = record.resource, record.origin
    try:
        new = _state(record, record.value, record.revision)
        old = _state(record, record.previous, record.previous_revision)
    except Unreadable as problem:
        return _line(_head(record, {}) | {"changes": [], "unreadable": str(problem)})
    manager = origin.manager or last_manager(new or old or {})
    if query.filters.manager and manager not in query.filters.manager:
        return b""
    members = _head(record, new or old or {}, manager)
    members["changes"] = [each.to_json() for each in resource.changes(old, new, generation=query.generation)]
    if query.objects:
        members["object"] = None if new is None else resource.shown(new)
        members["previous"] = None if old is None else resource.shown(old)
    return _line(members)


def _fault(record: RecordedFault) -> Object:
    """Return the members of a fault: those of a write without changes, and the answer."""
    fault = record.fault
    return {
        "revision": record.revision,
        "time": stamp(record.time),
        "type": record.type,
        "group": fault.group,
        "version": fault.version,
        "resource": fault.resource,
        "kind": record.kind,
        "namespace": fault.namespace,
        "name": fault.name,
        "uid": "",
        "user": fault.user,
        "userAgent": fault.user_agent,
        "manager": "",
        "auditID": fault.audit_id,
        "verb": fault.verb,
        "subresource": fault.subresource,
        "fault": fault.rule,
        "answer": fault.answer,
        "changes": [],
    }


def _head(record: RecordedWrite, obj: Object, manager: str = "") -> Object:
    """Return the members of a record that are there for every write."""
    resource, origin = record.resource, record.origin
    head: Object = {"revision": record.revision, "time": stamp(record.time), "type": record.type}
    head |= identity(resource, record.key, obj)
    head |= {
        "user": origin.user,
        "userAgent": origin.user_agent,
        "manager": manager or origin.manager,
        "auditID": origin.audit_id,
        "verb": verb_of(record),
        "subresource": origin.subresource,
    }
    if fault := origin.fault:
        head["fault"] = fault
    return head


def identity(resource: RecordedResource, key: str, obj: Object) -> Object:
    """Return the members that name an object: those of its path, and its uid."""
    namespace, name = resource.names(key)
    version: str = obj.get("apiVersion", resource.version)
    return {
        "group": resource.group,
        "version": version.rpartition("/")[2],
        "resource": resource.plural,
        "kind": resource.kind,
        "namespace": namespace,
        "name": name,
        "uid": obj.get("metadata", {}).get("uid", ""),
    }


def difference_line(first: RecordedWrite, last: RecordedWrite) -> bytes:
    """Return the difference that the writes of one object from `first` to `last` make; empty if there is none."""
    resource = first.resource
    try:
        old = _state(first, first.previous, first.previous_revision)
        new = _state(last, last.value, last.revision)
    except Unreadable as problem:
        head = {"type": "MODIFIED", **identity(resource, first.key, {}), "revision": last.revision}
        return _line({**head, "changes": [], "unreadable": str(problem)})
    if old is None and new is None:
        return b""
    changes = [each.to_json() for each in last.resource.changes(old, new)]
    kind = "ADDED" if old is None else "DELETED" if new is None else "MODIFIED"
    if kind == "MODIFIED" and not changes:
        return b""
    named = identity(last.resource, last.key, new or old or {})
    return _line({"type": kind, **named, "revision": last.revision, "changes": changes})


def state_line(resource: RecordedResource, key: str, obj: Object) -> bytes:
    """Return an object of a past state as a line."""
    revision = int(obj["metadata"]["resourceVersion"])
    return _line({**identity(resource, key, obj), "revision": revision, "object": resource.shown(obj)})


def error_line(error: StatusError) -> bytes:
    """Return the line that ends a stream with an error, as the last event of a watch does."""
    return _line({"type": "ERROR", "object": error.to_status()})


def last_manager(obj: Object) -> str:
    """Return the field manager of the newest entry of `managedFields`, or an empty string."""
    entries = obj.get("metadata", {}).get("managedFields") or ()
    newest: Object = max(entries, key=lambda entry: entry.get("time") or "", default={})
    manager: str = newest.get("manager", "")
    return manager


def _state(record: RecordedWrite, value: bytes | None, revision: int) -> Object | None:
    """Return the object of a stored value. Raises Unreadable."""
    if value is None:
        return None
    if not value:
        raise Unreadable("the stored value is damaged")
    if record.unreadable and value is record.value:
        raise Unreadable(record.unreadable)
    try:
        return record.resource.load(record.resource.build(record.key, value, revision))
    except (StatusError, ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"the stored value cannot be decoded ({error})") from None


def _line(members: Any) -> bytes:
    return text(members) + b"\n"

"""Optimistic lock: the resourceVersion of a written object against the live one's (reference WRITE-10)."""

from __future__ import annotations

from orchtw.errors import BadRequest, Cause, Conflict, Invalid, NotFound
from orchtw.registry.write import Write
from orchtw.rules.resource_version import parse_revision
from orchtw.storage.store import KeyValue
from orchtw.watch.entry import Entry


def match_version(write: Write, version: str, live: Entry) -> str:
    """Check the version of an update; returns the one that it asks for, or "" if it overwrites any.

    Raises BadRequest (400, not a number), Conflict (409, another version), Invalid (422, the kind asks for one).
    """
    resource = write.target.resource
    try:
        revision = parse_revision(version) if version else 0
    except ValueError as error:
        raise BadRequest(str(error)) from None
    if not revision:  # "0" says as little as none
        if not (write.from_live or write.target.strategy.traits.unconditional_update):
            why = "Invalid value: 0x0: must be specified for an update"
            cause = Cause("FieldValueInvalid", why, "metadata.resourceVersion")
            raise Invalid.of(resource.plural, resource.group, write.name, [cause])
        return ""
    if revision != live.revision:
        raise modified(write)
    return version


def modified(write: Write) -> Conflict:
    """Return the error (409) for a write that comes too late."""
    resource = write.target.resource
    return Conflict.modified(resource.plural, resource.group, write.name)


def may_create(write: Write) -> bool:
    """Report whether an update of an object that does not exist creates it (reference WRITE-9)."""
    return write.applies or write.target.strategy.traits.create_on_update


def lost_race(write: Write, asked_version: str, current: KeyValue | None) -> None:
    """Raise the error for a lost race if repeating cannot help: Conflict (409) or NotFound (404).

    `asked_version` is that of `match_version`, `current` what the store has now.
    """
    if asked_version:
        raise modified(write)
    if current is None and not may_create(write):
        resource = write.target.resource
        raise NotFound.of(resource.plural, resource.group, write.name)

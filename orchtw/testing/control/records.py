"""Recorded writes and differences, as `/debug/history` tells of them, and their text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import msgspec

MOST_VALUE = 80
"""Characters of a value in a text."""

MOST_CHANGES = 12
"""Changed fields of one write in a text."""


class ChangedField(msgspec.Struct, frozen=True):
    """Change of the field at `path`, such as `$.spec.replicas`; a value that was not there is None."""

    path: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.path}: {_shown(self.old)} → {_shown(self.new)}"


@attrs.frozen(slots=True, kw_only=True)
class RecordedWrite:
    """One write, by its user, with the fields that it changed; or a fault on demand after which nothing was stored.

    `type` is ADDED, MODIFIED, DELETED or FAULT. `uid` is that of the object, `audit_id` that of the request in the
    audit log, and `fault` the id of the rule that struck the request, empty for none. `json` is the whole record; its
    members are described with `/debug/history`.
    """

    revision: int
    time: str
    type: str
    group: str
    resource: str
    namespace: str
    name: str
    user: str
    user_agent: str
    manager: str
    verb: str
    subresource: str
    changes: Sequence[ChangedField]
    uid: str = ""
    audit_id: str = ""
    fault: str = ""
    json: Mapping[str, Any] = attrs.field(repr=False)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> RecordedWrite:
        """Return the write of a record."""
        return cls(
            revision=record["revision"],
            time=record.get("time", ""),
            type=record["type"],
            group=record["group"],
            resource=record["resource"],
            namespace=record["namespace"],
            name=record["name"],
            user=record.get("user", ""),
            user_agent=record.get("userAgent", ""),
            manager=record.get("manager", ""),
            verb=record.get("verb", ""),
            subresource=record.get("subresource", ""),
            changes=changed_fields(record),
            uid=record.get("uid", ""),
            audit_id=record.get("auditID", ""),
            fault=record.get("fault", ""),
            json=record,
        )

    @property
    def path(self) -> str:
        """Return resource, namespace and name, such as `deployments.apps shop/web`."""
        return path_text(self.group, self.resource, self.namespace, self.name)

    def __str__(self) -> str:
        manager = f" ({self.manager})" if self.manager else ""
        verb = f"{self.verb} {self.subresource}".strip()
        if self.type == "FAULT":
            verb += f": {self.json['answer']}"
        clock = self.time.partition("T")[2].removesuffix("Z")
        head = f"{clock} {self.type} {self.path} at {self.revision} by {self.user}{manager}, {verb}"
        if self.fault:
            head += f" [fault {self.fault}]"
        return "\n".join((head, *_change_lines(self.changes)))


class ObjectDifference(msgspec.Struct, frozen=True, kw_only=True):
    """ObjectDifference of one object between two revisions. `type` is ADDED, MODIFIED or DELETED."""

    type: str
    group: str
    resource: str
    namespace: str
    name: str
    changes: Sequence[ChangedField]

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> ObjectDifference:
        """Return the difference of a line."""
        return cls(
            type=record["type"],
            group=record["group"],
            resource=record["resource"],
            namespace=record["namespace"],
            name=record["name"],
            changes=changed_fields(record),
        )

    def __str__(self) -> str:
        head = f"{self.type} {path_text(self.group, self.resource, self.namespace, self.name)}"
        return "\n".join((head, *_change_lines(self.changes)))


def changed_fields(record: Mapping[str, Any]) -> tuple[ChangedField, ...]:
    """Return the changes of a record."""
    return tuple(ChangedField(each["path"], each.get("old"), each.get("new")) for each in record["changes"])


def path_text(group: str, resource: str, namespace: str, name: str) -> str:
    """Return a text that names an object."""
    plural = f"{resource}.{group}" if group else resource
    return f"{plural} {namespace}/{name}" if namespace else f"{plural} {name}"


def writes_text(writes: Iterable[RecordedWrite]) -> str:
    """Return the writes as text, a paragraph each; a sentence if there are none."""
    return "\n".join(map(str, writes)) or "no writes"


def _change_lines(changes: Sequence[ChangedField]) -> list[str]:
    lines = [f"    {each}" for each in changes[:MOST_CHANGES]]
    if len(changes) > MOST_CHANGES:
        lines.append(f"    … and {len(changes) - MOST_CHANGES} more")
    return lines


def _shown(value: Any) -> str:
    text = "(none)" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_VALUE else f"{text[:MOST_VALUE]}…"

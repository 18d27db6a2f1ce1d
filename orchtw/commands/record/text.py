"""Records, states and differences as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from orchtw.commands.record.terminal import Style, harmless
from orchtw.exports import client
from orchtw.exports.client import kind_name
from orchtw.exports.export_file import FAULT
from orchtw.wire.objects import Object

MOST_CHANGES: Final = 10
"""Changes of a record in a list; `show` has all of them."""

_KINDS: Final = {"ADDED": "added", "DELETED": "removed", "MODIFIED": "changed", FAULT: "removed"}
_DONE: Final = {"ADDED": "created", "DELETED": "deleted", "MODIFIED": "updated"}
_MARKS: Final = {"add": "+", "remove": "-", "replace": "~", "ADDED": "+", "DELETED": "-", "MODIFIED": "~"}
_COLOURS: Final = {"+": "added", "-": "removed", "~": "changed"}


def record_lines(record: Object, style: Style, most: int = MOST_CHANGES) -> Iterator[str]:
    """Yield the lines of a record in a list: one about the write, and one for each change, at most so many."""
    kind, paint = record["type"], style.paint
    yield " ".join(filter(None, (
        paint("faint", f"{clock(record['time'])} {record['revision']:>6}"),
        paint("user", harmless(record["user"] or "(unknown)")),
        paint(_KINDS[kind], done(record)),
        paint("object", object_name(record)),
        paint("faint", by_means_of(record)),
        paint("removed", f"[fault {harmless(fault_of(record))}]") if record.get("fault") else "",
    )))  # fmt: skip
    if "unreadable" in record:
        yield f"    {harmless(record['unreadable'])}"
    if kind == "DELETED":
        return  # the whole object has gone
    changes = record["changes"]
    yield from (f"    {line}" for line in change_lines(changes[:most], style))
    if len(changes) > most:
        yield paint("faint", f"    {style.sign('…')} {len(changes) - most} more: show {record['revision']}")


def fault_of(record: Object) -> str:
    """Return the rules of the faults, with the answer if nothing was stored: `conflict-1: 409 Conflict`."""
    return ": ".join(filter(None, (record.get("fault", ""), record.get("answer", ""))))


def change_lines(changes: Iterable[Object], style: Style, most: int = 80) -> Iterator[str]:
    """Yield a line for each change; values are truncated to `most` characters, 0: not at all."""
    for change in changes:
        mark = _MARKS[change["op"]]
        old, new = (style.value(change[side], most) for side in ("old", "new"))
        values = {"+": new, "-": old, "~": f"{old} {style.sign('→')} {new}"}[mark]
        yield style.paint(_COLOURS[mark], f"{mark} {short_path(change['path'])}: {values}")


def record_text(record: Object, style: Style) -> Iterator[str]:
    """Yield everything about one record."""
    rows = (
        ("Revision", record["revision"]),
        ("Time", record["time"]),
        ("Object", f"{object_name(record)}, {record['version']}, uid {record['uid']}"),
        ("Write", done(record)),
        ("User", record["user"] or "(unknown)"),
        ("User agent", record["userAgent"]),
        ("Manager", record["manager"]),
        ("Audit id", record["auditID"]),
        ("Fault", record.get("fault", "")),
        ("Unreadable", record.get("unreadable", "")),
    )
    for name, value in rows:
        if value != "":
            yield style.paint("faint", f"{name}:".ljust(12)) + harmless(value)
    yield ""
    yield from change_lines(record["changes"], style, most=0)


def difference_lines(difference: Object, style: Style) -> Iterator[str]:
    """Yield the lines of an object that differs: one with its name, and one for each change of one that stays."""
    mark = _MARKS[difference["type"]]
    yield style.paint(_COLOURS[mark], f"{mark} {object_name(difference)}")
    if "unreadable" in difference:
        yield f"    {harmless(difference['unreadable'])}"
    if mark == "~":
        yield from (f"    {line}" for line in change_lines(difference["changes"], style))


def table(states: Sequence[Object]) -> Iterator[str]:
    """Yield a table of objects, without their contents."""
    rows = [("NAMESPACE", "OBJECT", "REVISION")]
    rows += [(each["namespace"], f"{kind_name(each)}/{each['name']}", str(each["revision"])) for each in states]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for row in rows:
        yield harmless(f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}").rstrip()


def done(record: Object) -> str:
    """Return the verb of a record in the past tense, with its sub-resource."""
    if record["type"] == FAULT:
        return harmless(f"{record['verb']} {record['subresource']} of" if record["subresource"] else record["verb"])
    word = _DONE[record["type"]]
    if record["type"] == "MODIFIED":
        word = {"patch": "patched", "delete": "marked", "deletecollection": "marked"}.get(record["verb"], word)
    subresource = record["subresource"]
    if word == "marked":
        return "marked for deletion"
    return f"{word} {harmless(subresource)} of" if subresource else word


def by_means_of(record: Object) -> str:
    """Return field manager and program in parentheses, or an empty string."""
    told = ", ".join(filter(None, (record["manager"], record["userAgent"].partition(" ")[0])))
    return f"({harmless(told)})" if told else ""


def object_name(named: Object) -> str:
    """Return kind, namespace and name of an object: `configmap default/a`."""
    return harmless(client.object_name(named))


def short_path(path: str) -> str:
    """Return a path without the root: `spec.replicas`."""
    return harmless(path.removeprefix("$.").removeprefix("$"))


def clock(time: str) -> str:
    """Return the time of day of a record, with milliseconds, in UTC."""
    return harmless(time[11:23])

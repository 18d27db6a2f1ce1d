"""Legacy format of log lines (reference AUDIT-11)."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object


def legacy_line(members: Object) -> bytes:
    """Format an event as a line of quoted fields."""
    user, other = members["user"], members.get("impersonatedUser")
    username, groups = user.get("username", "<none>"), "<none>"
    if "username" in user and user.get("groups"):
        groups = _list(user["groups"])
    as_user, as_groups = "<self>", "<lookup>"
    if other is not None:
        as_user = other.get("username", "")
        as_groups = _list(other["groups"]) if "groups" in other else as_groups
    status = members.get("responseStatus")
    fields = (
        ("id", members["auditID"]),
        ("stage", members["stage"]),
        ("ip", (members.get("sourceIPs") or ["<unknown>"])[0]),
        ("method", members["verb"]),
        ("user", username),
        ("groups", groups),
        ("as", as_user),
        ("asgroups", as_groups),
        ("user-agent", members.get("userAgent", "")),
        ("namespace", members.get("objectRef", {}).get("namespace", "<none>")),
        ("uri", members["requestURI"]),
        ("response", str(status.get("code", 0)) if status else "<deferred>"),
    )
    shown = " ".join(f"{name}={go_quote(value)}" for name, value in fields)
    return f"{_shortest(members['requestReceivedTimestamp'])} AUDIT: {shown}\n".encode("utf-8", "replace")


def _shortest(time: str) -> str:
    """Return the time without trailing zeros in its fraction."""
    return time[:-1].rstrip("0").rstrip(".") + "Z" if "." in time else time


def _list(texts: Sequence[str]) -> str:
    return ",".join(map(go_quote, texts))

"""Records as a server shows them."""

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object


def record(kind: str = "MODIFIED", **members: Any) -> Object:
    """A record of a ConfigMap; `changes` are given as triples."""
    changes = [
        {"op": "add" if old is None else "remove" if new is None else "replace", "path": path, "old": old, "new": new}
        for path, old, new in members.pop("changes", [("$.data.x", "1", "2")])
    ]
    return {
        "revision": 7, "time": "2024-05-01T12:34:56.123456Z", "type": kind, "group": "", "version": "v1",
        "resource": "configmaps", "kind": "ConfigMap", "namespace": "a", "name": "x", "uid": "u-1", "user": "jane",
        "userAgent": "kubectl/v1.24 (linux)", "manager": "kubectl-edit", "auditID": "id-1", "verb": "update",
        "subresource": "", "changes": changes, **members,
    }  # fmt: skip


def existing(resource: str, name: str, uid: str = "", owners: tuple[str, ...] = (), **members: Any) -> Object:
    """The line of an object that was there before the writes."""
    metadata: Object = {"name": name, "uid": uid or name, "resourceVersion": "3"}
    if owners:
        metadata["ownerReferences"] = [{"kind": "K", "name": each, "uid": each} for each in owners]
    return {
        "type": "EXISTING", "group": "", "version": "v1", "resource": resource, "kind": "Kind", "namespace": "",
        "name": name, "uid": uid or name, "revision": 3, "object": {"metadata": metadata}, **members,
    }  # fmt: skip

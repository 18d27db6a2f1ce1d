"""Objects that tests of verbs send."""

from __future__ import annotations

from orchtw.wire.objects import Object


def config_map(name: str = "x", /, **meta: object) -> Object:
    """Return a ConfigMap with more metadata."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}, "data": {"key": "old"}}

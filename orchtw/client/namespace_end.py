"""Refusals of creates in a namespace that is being deleted: nothing is wrong, and a retry would not help."""

from __future__ import annotations

from orchtw.errors import StatusError


def ends_with_namespace(error: StatusError) -> bool:
    """Report whether an object cannot be created because its namespace is being deleted (reference ERR-21)."""
    return any(cause.get("reason") == "NamespaceTerminating" for cause in (error.details or {}).get("causes") or ())

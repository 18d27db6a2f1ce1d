"""Refusals (400) of a request's body (reference ERR-15)."""

from __future__ import annotations

from orchtw.errors import BadRequest

_SHOWN_BYTES = 30
_PACKAGES = {
    "": "core",
    "events.orch.io": "core",
    "internal.apiserver.orch.io": "apiserverinternal",
    "rbac.authorization.orch.io": "rbac",
}


def unrecognized(body: bytes, must_be: str, why: str) -> BadRequest:
    """Return the 400 for a body that is not even an object with a type; `must_be` is the kind that is wanted."""
    kind = f" (must be of type {must_be})" if must_be else ""
    return BadRequest(f"the object provided is unrecognized{kind}: {why} ({_summary(body)})")


def mishandled(api_version: str, kind: str, must_be: str, why: str) -> BadRequest:
    """Return the 400 for a body of another kind, or one that does not fit its own."""
    version = api_version.rpartition("/")[2]
    return BadRequest(f'{kind} in version "{version}" cannot be handled as a {must_be}: {why}')


def internal_package(group: str) -> str:
    """Return the Go package of a group's internal types, by its neutral name, as texts show it."""
    return _PACKAGES.get(group) or group.partition(".")[0]


def _summary(body: bytes) -> str:
    """Return the first bytes: as text where they can be JSON, else in hexadecimal."""
    if not body:
        return "<empty>"
    start = body[:_SHOWN_BYTES]
    text = start.decode("utf-8", "replace") if body[:1] == b"{" else start.hex()
    return text + (" ..." if len(body) > _SHOWN_BYTES else "")

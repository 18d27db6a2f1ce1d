"""State of a CertificateSigningRequest (reference CSR-1)."""

from __future__ import annotations

from orchtw.wire.objects import Object

APPROVED, DENIED, FAILED = "Approved", "Denied", "Failed"


def conditions(request: Object) -> list[Object]:
    """Return its conditions, empty if there are none."""
    found: list[Object] = (request.get("status") or {}).get("conditions") or []
    return found


def has(request: Object, *kinds: str) -> bool:
    """Report whether a condition of one of these types exists; such conditions are always True."""
    return any(each.get("type") in kinds for each in conditions(request))


def certificate(request: Object) -> str:
    """Return the issued certificate in base64, or an empty text."""
    text: str = (request.get("status") or {}).get("certificate") or ""
    return text


def with_status(request: Object, **changes: object) -> Object:
    """Return the request with these fields of its status changed."""
    return {**request, "status": {**(request.get("status") or {}), **changes}}


def with_condition(request: Object, kind: str, reason: str, message: str) -> Object:
    """Return the request with one more condition, which is true."""
    added = {"type": kind, "status": "True", "reason": reason, "message": message}
    return with_status(request, conditions=[*conditions(request), added])

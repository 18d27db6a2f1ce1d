"""Audit record of a request whose authentication fails (reference AUDIT-5)."""

from __future__ import annotations

from orchtw.audit.auditor import Auditor, Record
from orchtw.errors import StatusError, Unauthorized
from orchtw.request import Request


def failed_record(auditor: Auditor, request: Request, error: StatusError) -> Record | None:
    """Return the record of a request that `error` refuses, with its status; None if its audit level is None."""
    record = auditor.begin(request)
    if record is not None:
        message = attempts(request) if isinstance(error, Unauthorized) else error.message
        record.status = {"metadata": {}, "message": message, "code": error.code}
    return record


def attempts(request: Request) -> str:
    """Return the error of a failed authentication: kinds of credentials, never their values (reference AUDIT-5)."""
    scheme, _, rest = request.headers.get("authorization", "").strip().partition(" ")
    tried = []
    if rest and scheme.lower() in ("basic", "bearer"):
        tried.append(scheme.lower())
    if request.query and request.param("access_token").strip():
        tried.append("access_token")
    if request.peer.certificate is not None:
        tried.append("x509")
    if not tried:
        return "Authentication failed, no credentials provided"
    return f"Authentication failed, attempted: {', '.join(tried)}"

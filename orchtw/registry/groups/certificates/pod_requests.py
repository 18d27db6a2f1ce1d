"""Requests of nodes for certificates of their pods (reference KIND-101)."""

from __future__ import annotations

from typing import Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values.causes import invalid, required
from orchtw.values.signer_names import signer_causes
from orchtw.wire.objects import Object

_ONCE: Final = ("certificateChain", "notBefore", "beginRefreshAt", "notAfter")


def validate_pod_request(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate the signer and that there is a key; the spec stays."""
    spec = new.get("spec") or {}
    if old is not None:
        return [] if spec == (old.get("spec") or {}) else [invalid("spec", spec, IMMUTABLE)]
    causes = signer_causes(spec.get("signerName", ""), "spec.signerName")
    if not spec.get("stubPKCS10Request") and not spec.get("pkixPublicKey"):
        causes.append(required("spec.stubPKCS10Request"))
    return causes


def validate_pod_request_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate that an issued certificate stays, and that a request has one outcome."""
    status, before = new.get("status") or {}, old.get("status") or {}
    causes = [
        invalid(f"status.{key}", status.get(key), IMMUTABLE)
        for key in _ONCE
        if before.get(key) and status.get(key) != before[key]
    ]
    outcomes = [each.get("type") for each in status.get("conditions") or () if each.get("type") in _OUTCOMES]
    if len(outcomes) > 1:
        text = "there may be at most one condition with type Issued, Denied, or Failed"
        causes.append(invalid("status.conditions", ", ".join(outcomes), text))
    return causes


_OUTCOMES: Final = ("Issued", "Denied", "Failed")

POD_CERTIFICATE_REQUEST = KindRecord(
    group="certificates.orch.io",
    kind="PodCertificateRequest",
    validate=validate_pod_request,
    validate_status=validate_pod_request_status,
)

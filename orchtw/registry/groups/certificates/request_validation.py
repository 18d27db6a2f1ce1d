"""Validation of CertificateSigningRequests (reference CSR-3, CSR-5, CSR-6)."""

from __future__ import annotations

from base64 import b64decode
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.certificates.usages import usage_causes
from orchtw.rules.pem import blocks
from orchtw.values.causes import invalid, invalid_bytes
from orchtw.values.signer_names import signer_causes
from orchtw.wire.objects import Object

LEGACY_SIGNER: Final = "orch.io/legacy-unknown"

_REQUEST: Final = "spec.request"
_LEAST_SECONDS: Final = 600


def validate_request(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that a new request is complete and signed; it never changes."""
    if old is not None:
        return []
    spec = new["spec"]
    causes = _pkcs10_causes(b64decode(spec.get("request") or ""))
    causes += signer_causes(spec.get("signerName", ""), "spec.signerName", naming.translate(LEGACY_SIGNER))
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _LEAST_SECONDS:
        text = f"may not specify a duration less than {_LEAST_SECONDS} seconds (10 minutes)"
        causes.append(invalid("spec.expirationSeconds", seconds, text))
    return causes + usage_causes(spec.get("usages") or ())


def _pkcs10_causes(pem: bytes) -> list[Cause]:
    """Return the causes unless the first block holds a request with a valid signature."""
    block = next(blocks(pem), None)
    if block is None or block.type != "CERTIFICATE REQUEST":
        return [invalid_bytes(_REQUEST, pem, "PEM block type must be CERTIFICATE REQUEST")]
    try:
        signed = x509.load_der_x509_csr(block.content).is_signature_valid
    except (ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion) as error:
        return [invalid_bytes(_REQUEST, pem, f"the request cannot be read: {error}")]
    return [] if signed else [invalid_bytes(_REQUEST, pem, "the signature of the request is invalid")]

"""Usages of a certificate that a CertificateSigningRequest may ask for (reference CSR-4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.values.causes import duplicate, not_supported, required

_USAGES: Final = (
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment"),
    *("decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel"),
    *("ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime"),
    *("server auth", "signing", "timestamping"),
)


def usage_causes(usages: Sequence[str]) -> list[Cause]:
    """Return the causes that reject the usages of a request: none at all, unknown ones and duplicates."""
    if not usages:
        return [required("spec.usages", "usages must be provided")]
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, usage in enumerate(usages):
        if len(causes) > MAX_CAUSES:
            break
        if usage not in _USAGES:
            causes.append(not_supported(f"spec.usages[{index}]", usage, _USAGES))
        if usage in seen:
            causes.append(duplicate(f"spec.usages[{index}]", usage))
        seen.add(usage)
    return causes

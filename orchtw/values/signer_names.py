"""Names of signers of certificates: `domain/path` (reference CSR-4)."""

from __future__ import annotations

from typing import Final

from orchtw.errors import Cause
from orchtw.values.causes import go_quote, invalid, required, too_long
from orchtw.values.names import Check, dns_label, dns_subdomain

_MAX_DOMAIN: Final = 253
_MAX_SIGNER: Final = 571  # a domain, a slash, a label, a dot and a subdomain


def signer_causes(name: str, at: str, legacy: str = "") -> list[Cause]:
    """Return the causes for a name at path `at` that is not `domain/path`, or that is the `legacy` one."""
    if not name:
        return [required(at, "signerName must be provided")]
    if name == legacy:
        return [invalid(at, name, "the legacy signerName is not allowed via this API version")]
    domain, _, path = name.partition("/")
    if name.count("/") != 1:
        form = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(at, name, form)]
    causes = [too_long(at, _MAX_DOMAIN)] if len(domain) > _MAX_DOMAIN else []
    causes += _part_causes(domain, at, dns_label)
    if "." not in domain:
        causes.append(invalid(at, domain, "should be a domain with at least two segments separated by dots"))
    causes += _part_causes(path, at, dns_subdomain)
    return [*causes, too_long(at, _MAX_SIGNER)] if len(name) > _MAX_SIGNER else causes


def _part_causes(parts: str, at: str, check: Check) -> list[Cause]:
    """Return the causes that reject the first malformed label."""
    for part in parts.split("."):
        if texts := check(part):
            return [invalid(at, parts, f"validating label {go_quote(part)}: {text}") for text in texts]
    return []

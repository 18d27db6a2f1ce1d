"""Bundles of certificates of authorities that all pods may read (reference KIND-101)."""

from __future__ import annotations

from typing import Final

from cryptography import x509

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.rules.pem import blocks
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values import utf8
from orchtw.values.causes import invalid, too_long
from orchtw.values.names import NameForm, dns_subdomain
from orchtw.values.signer_names import signer_causes
from orchtw.wire.objects import Object

_BUNDLE: Final = "spec.trustBundle"
_SIGNER: Final = "spec.signerName"
_LONGEST: Final = 1 << 20
_SHOWN: Final = "<value omitted>"


def validate_trust_bundle(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate the name, which begins with that of the signer, and the certificates."""
    spec, name = new.get("spec") or {}, new["metadata"].get("name", "")
    signer = spec.get("signerName", "")
    causes = _name_causes(name, signer)
    if signer:
        causes += signer_causes(signer, _SIGNER)
    if old is not None and signer != (old.get("spec") or {}).get("signerName", ""):
        causes.append(invalid(_SIGNER, signer, IMMUTABLE))
    return causes + _bundle_causes(spec.get("trustBundle", ""))


def _name_causes(name: str, signer: str) -> list[Cause]:
    if not signer:
        text = 'ClusterTrustBundle without signer name must not have ":" in its name'
        return [invalid("metadata.name", name, text)] if ":" in name else []
    prefix = signer.replace("/", ":") + ":"
    if name.startswith(prefix):
        return []
    text = f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"
    return [invalid("metadata.name", name, text)]


def _bundle_causes(bundle: str) -> list[Cause]:
    if utf8.size(bundle) > _LONGEST:
        return [too_long(_BUNDLE, _LONGEST)]
    causes: list[Cause] = []
    seen: set[bytes] = set()
    for index, block in enumerate(blocks(bundle.encode())):
        if len(causes) > MAX_CAUSES:
            break
        if block.type != "CERTIFICATE":
            causes.append(invalid(_BUNDLE, _SHOWN, f"entry {index} has bad block type: {block.type}"))
        elif not _is_certificate(block.content):
            causes.append(invalid(_BUNDLE, _SHOWN, f"entry {index} does not parse as X.509"))
        elif block.content in seen:
            causes.append(invalid(_BUNDLE, _SHOWN, f"entry {index} is a duplicate of an earlier one"))
        seen.add(block.content)
    return causes if seen else [invalid(_BUNDLE, _SHOWN, "at least one trust anchor must be provided")]


def _is_certificate(content: bytes) -> bool:
    try:
        x509.load_der_x509_certificate(content)
    except (ValueError, TypeError):
        return False
    return True


def _own_name(name: str) -> tuple[str, ...]:
    """Return why a name is not subdomains with colons between them."""
    return tuple(dict.fromkeys(text for part in name.split(":") for text in dns_subdomain(part)))


CLUSTER_TRUST_BUNDLE = KindRecord(
    group="certificates.orch.io",
    kind="ClusterTrustBundle",
    name_form=NameForm.dns(_own_name),
    validate=validate_trust_bundle,
)

"""Certificates in projected volumes: bundles of authorities, and a pod's own (reference KIND-105)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from orchtw.errors import Cause
from orchtw.values.causes import forbidden, invalid, not_supported, required
from orchtw.values.file_paths import file_path
from orchtw.values.names import dns_subdomain, qualified_name
from orchtw.values.signer_names import signer_causes
from orchtw.wire.objects import Object

_KEY_TYPES: Final = ("ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", "RSA3072", "RSA4096")
_PATHS: Final = ("credentialBundlePath", "keyPath", "certificateChainPath")
_LEAST_S: Final = 3600
_MOST_S: Final = 7862400


def check_trust_bundle(bundle: Object, old: Object | None) -> list[Cause]:
    """Validate that a bundle is named, or chosen among those of a signer."""
    name, signer, path = bundle.get("name"), bundle.get("signerName"), bundle.get("path")
    causes: list[Cause] = []
    if name is not None and signer is not None:
        causes.append(invalid("", "", "only one of name and signerName may be used"))
    elif name is None and signer is None:
        causes.append(required("", "either name or signerName must be specified"))
    elif name is not None:
        causes += [invalid("name", name, text) for part in name.split(":") for text in dns_subdomain(part)]
        if bundle.get("labelSelector") is not None:
            causes.append(forbidden("labelSelector", "labelSelector is not permitted when name is specified"))
    else:
        causes += signer_causes(signer or "", "signerName")
    return causes + ([invalid("path", path, text) for text in file_path(path)] if path else [required("path")])


def check_pod_certificate(certificate: Object, old: Object | None) -> list[Cause]:
    """Validate the signer, the key and where the files are."""
    causes = signer_causes(certificate.get("signerName", ""), "signerName")
    kind, lasts_s = certificate.get("keyType", ""), certificate.get("maxExpirationSeconds")
    if kind not in _KEY_TYPES:
        causes.append(not_supported("keyType", kind, _KEY_TYPES) if kind else required("keyType"))
    if lasts_s is not None and not _LEAST_S <= lasts_s <= _MOST_S:
        text = f"must be between {_LEAST_S} and {_MOST_S}, inclusive"
        causes.append(invalid("maxExpirationSeconds", lasts_s, text))
    paths = {key: path for key in _PATHS if (path := certificate.get(key))}
    if not paths:
        causes.append(required("", f"specify at least one of {', '.join(_PATHS)}"))
    for key, path in paths.items():
        causes += [invalid(key, path, text) for text in file_path(path)]
    for key in certificate.get("userAnnotations") or ():
        causes += [invalid("userAnnotations", key, text) for text in qualified_name(key)]
    return causes


def files(source: Object) -> Iterator[str]:
    """Yield the paths of the files that a projection of certificates writes."""
    bundle, certificate = source.get("clusterTrustBundle") or {}, source.get("podCertificate") or {}
    paths = (bundle.get("path"), *(certificate.get(key) for key in _PATHS))
    return (path for path in paths if path)

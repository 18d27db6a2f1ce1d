"""Issuing of certificates for CertificateSigningRequests (reference CSR-14, CSR-15, CSR-16)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from secrets import randbits
from typing import Final

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID

from orchtw.pki.certificates import CLOCK_SKEW
from orchtw.rules.certificate_requests import CertificateRequest

SHORT_LIFE: Final = timedelta(hours=8)
"""Lifetimes below this count from now; longer ones include the backdating."""

_SERIAL_BITS: Final = 128
_BITS: Final[Mapping[str, str]] = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_PURPOSES: Final[Mapping[str, x509.ObjectIdentifier]] = {
    "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email protection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "s/mime": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "ipsec end system": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.5"),
    "ipsec tunnel": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.6"),
    "ipsec user": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.7"),
    "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp signing": ExtendedKeyUsageOID.OCSP_SIGNING,
    "microsoft sgc": x509.ObjectIdentifier("1.3.6.1.4.1.311.10.3.3"),
    "netscape sgc": x509.ObjectIdentifier("2.16.840.1.113730.4.1"),
}
_ONLY: Final = ("encipher_only", "decipher_only")


class SigningAuthority(msgspec.Struct, frozen=True):
    """CA certificate and its key, of any type that can sign."""

    certificate: x509.Certificate
    key: CertificateIssuerPrivateKeyTypes


def sign_request(
    authority: SigningAuthority,
    asked: CertificateRequest,
    usages: Collection[str],
    life: timedelta,
    now: datetime,
) -> x509.Certificate:
    """Issue a certificate for the request's key, subject and SANs; its other extensions are ignored.

    Raises ValueError for an expired authority, and for keys and names that a certificate cannot hold.
    """
    end = authority.certificate.not_valid_after_utc
    if now >= end:
        raise ValueError(f"the signer has expired: NotAfter={end:%Y-%m-%d %H:%M:%S}")
    builder = (
        x509.CertificateBuilder()
        .subject_name(asked.pkcs10.subject)
        .issuer_name(authority.certificate.subject)
        .public_key(asked.public_key)
        .serial_number(randbits(_SERIAL_BITS) or 1)
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(_end(now, life, end))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_issuer_id(authority), critical=False)
    )
    if (bits := _key_usage(usages)) is not None:
        builder = builder.add_extension(bits, critical=True)
    if purposes := _purposes(usages):
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
    if asked.alternatives:
        nameless = not list(asked.pkcs10.subject)
        builder = builder.add_extension(x509.SubjectAlternativeName(asked.alternatives), critical=nameless)
    return builder.sign(authority.key, _digest(authority.key))


def _end(now: datetime, life: timedelta, limit: datetime) -> datetime:
    """Return notAfter: the backdating is deducted from long lifetimes, and no certificate outlives its authority."""
    life = min(life, limit - now + CLOCK_SKEW)
    return min(limit, now + life if life < SHORT_LIFE else now + life - CLOCK_SKEW)


def _issuer_id(authority: SigningAuthority) -> x509.AuthorityKeyIdentifier:
    try:
        extension = authority.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(extension.value)


def _key_usage(usages: Collection[str]) -> x509.KeyUsage | None:
    """Return the requested key usage bits; the `… only` bits are dropped unless key agreement is requested too."""
    asked = {_BITS[usage] for usage in usages if usage in _BITS}
    if "key_agreement" not in asked:
        asked.difference_update(_ONLY)
    if not asked:
        return None
    return x509.KeyUsage(**{bit: bit in asked for bit in _BITS.values()})


def _purposes(usages: Collection[str]) -> list[x509.ObjectIdentifier]:
    """Return the requested extended key usages in the order of the table, without duplicates."""
    return list(dict.fromkeys(oid for usage, oid in _PURPOSES.items() if usage in usages))


def _digest(key: CertificateIssuerPrivateKeyTypes) -> hashes.SHA256 | hashes.SHA384 | hashes.SHA512 | None:
    if isinstance(key, ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey):
        return None
    if isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.key_size > 256:
        return hashes.SHA384() if key.curve.key_size <= 384 else hashes.SHA512()
    return hashes.SHA256()

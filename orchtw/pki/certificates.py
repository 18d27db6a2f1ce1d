"""Issuing and checking of X.509 certificates: pure functions without files or clock."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CA_LIFE = timedelta(days=3650)
LEAF_LIFE = timedelta(days=365)
# Generated certificates that expire within this time are renewed at the next start.
RENEWAL = timedelta(days=30)
# Backdating of notBefore: a client whose clock is behind by less than this accepts a new certificate.
CLOCK_SKEW = timedelta(minutes=5)

SERVER, CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH


class Authority(msgspec.Struct, frozen=True):
    """Certificate authority: its certificate and signing key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def new_key() -> ec.EllipticCurvePrivateKey:
    """Generate a P-256 key, which takes a fraction of a millisecond and works with every TLS client."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: PrivateKeyTypes) -> bytes:
    """Return the key as unencrypted PKCS #8 PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def public_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the public key as SubjectPublicKeyInfo PEM."""
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def pem(certificate: x509.Certificate) -> bytes:
    """Return the certificate as PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def new_authority(common_name: str, now: datetime) -> Authority:
    """Generate a self-signed CA, valid for CA_LIFE from `now`."""
    key = new_key()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    builder = _builder(name, name, key, now, now + CA_LIFE, _usage(signs_certificates=True))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return Authority(builder.sign(key, hashes.SHA256()), key)


def issue(
    authority: Authority,
    key: ec.EllipticCurvePrivateKey,
    common_name: str,
    purpose: x509.ObjectIdentifier,
    now: datetime,
    *,
    organizations: Sequence[str] = (),
    hosts: Sequence[str] = (),
    life: timedelta = LEAF_LIFE,
) -> x509.Certificate:
    """Issue a certificate for `key` and `purpose` (SERVER or CLIENT), valid for `life` but not beyond its authority.

    `organizations` are the subject's O entries (a client's groups); `hosts` are DNS names and IP addresses.
    """
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization) for organization in organizations]
    subject = x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    end = min(now + life, authority.certificate.not_valid_after_utc)
    builder = _builder(subject, authority.certificate.subject, key, now, end, _usage(signs_certificates=False))
    issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    builder = (
        builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(issuer_id, critical=False)
    )
    if hosts:
        alternatives = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        builder = builder.add_extension(alternatives, critical=False)
    return builder.sign(authority.key, hashes.SHA256())


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    end: datetime,
    usage: x509.KeyUsage,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(end)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(canonical_host(host)))
    except ValueError:
        return x509.DNSName(host)


def hosts_of(certificate: x509.Certificate) -> frozenset[str]:
    """Return the DNS names and IP addresses among the SANs; the subject's common name does not count."""
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return frozenset()
    addresses = extension.value.get_values_for_type(x509.IPAddress)
    return frozenset([*extension.value.get_values_for_type(x509.DNSName), *map(str, addresses)])


def canonical_host(host: str) -> str:
    """Normalise `host` as in `hosts_of`: names in lower case, IPv6 addresses compressed and without a zone."""
    try:
        return str(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        return host.lower()


def ends_before(certificate: x509.Certificate, moment: datetime) -> bool:
    """Report whether the certificate is no longer valid at `moment`."""
    return certificate.not_valid_after_utc <= moment


def matches(certificate: x509.Certificate, key: PrivateKeyTypes) -> bool:
    """Report whether the certificate is for this key; False if its key type is unknown."""
    form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    try:
        return certificate.public_key().public_bytes(*form) == key.public_key().public_bytes(*form)
    except (ValueError, UnsupportedAlgorithm):
        return False


def covers(certificate: x509.Certificate, host: str) -> bool:
    """Report whether the certificate is valid for `host`, by an exact or a wildcard SAN (`*.example.com`)."""
    wanted = canonical_host(host)
    found = {each.lower() for each in hosts_of(certificate)}
    return bool(found & {wanted, f"*.{wanted.partition('.')[2]}"})


def issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Report whether `issuer` signed the certificate."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True

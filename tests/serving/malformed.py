"""Client certificates that OpenSSL takes in a handshake and the certificate parser does not, or not wholly."""

from __future__ import annotations

import base64

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

_ECDSA_WITH_SHA256 = bytes.fromhex("300a06082a8648ce3d040302")
_SEQUENCE, _BIT_STRING = 0x30, 0x03
_CLIENT_AUTH = bytes.fromhex("06082b06010505070302")


def malformed(certificate: x509.Certificate, signer: ec.EllipticCurvePrivateKey, name: str) -> dict[str, bytes]:
    """The certificate with one thing wrong, signed again, as PEM; by what is wrong. `name` is its common name."""
    text = name.encode()
    begin = certificate.not_valid_before_utc.strftime("%y%m%d%H%M%SZ").encode()
    serial = certificate.serial_number.to_bytes(20, "big")
    changes = {
        "version 4": (b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x03"),
        "name is no printable text": (_field(0x0C, text), _field(0x13, b"\xff" * len(text))),
        "name is no telex text": (_field(0x0C, text), _field(0x14, b"\xff" * len(text))),
        "time is no time": (b"\x17\x0d" + begin, b"\x17\x0d" + begin[:-1] + b"X"),
        "usage is no object identifier": (_CLIENT_AUTH, _CLIENT_AUTH[:-1] + b"\x82"),
        "negative serial": (serial, b"\x80" + serial[1:]),
    }
    return {wrong: _signed(certificate, signer, *change) for wrong, change in changes.items()}


def _signed(certificate: x509.Certificate, signer: ec.EllipticCurvePrivateKey, old: bytes, new: bytes) -> bytes:
    body = certificate.tbs_certificate_bytes
    assert body.count(old) == 1 and len(old) == len(new)
    body = body.replace(old, new)
    signature = b"\0" + signer.sign(body, ec.ECDSA(SHA256()))
    der = _field(_SEQUENCE, body + _ECDSA_WITH_SHA256 + _field(_BIT_STRING, signature))
    return b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(der) + b"-----END CERTIFICATE-----\n"


def _field(tag: int, content: bytes) -> bytes:
    """A DER value of up to 64 KiB."""
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    return bytes([tag, 0x82]) + size.to_bytes(2, "big") + content

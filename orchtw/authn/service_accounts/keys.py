"""Keys of service account tokens: the signing key, and all keys that verify (reference AUTHN-24)."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509 import load_pem_x509_certificate

from orchtw.errors import ConfigError

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey

MIN_RSA_BITS: Final = 2048
_CURVES: Final = MappingProxyType({"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"})
_NAMES: Final = MappingProxyType({"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"})
_BLOCK: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\r?\n.*?-----END \1-----", re.DOTALL)


class VerifyingKey(msgspec.Struct, frozen=True, eq=False):
    """A public key, its id (`kid`) and the one algorithm it is used with."""

    key: PublicKey
    kid: str
    algorithm: str

    @classmethod
    def of(cls, key: PublicKey) -> VerifyingKey:
        """Derive id and algorithm of a key. Raises ValueError for an unsupported curve or RSA size."""
        der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        return cls(key, encoded(hashlib.sha256(der).digest()), _algorithm(key))

    def jwk(self) -> Mapping[str, str]:
        """Return the key as a JWK, its fields in the reference server's order."""
        if isinstance(self.key, rsa.RSAPublicKey):
            public = self.key.public_numbers()
            known = {"kty": "RSA", "kid": self.kid, "alg": self.algorithm}
            return {"use": "sig", **known, "n": _number(public.n), "e": _number(public.e)}
        point, length = self.key.public_numbers(), -(-self.key.curve.key_size // 8)
        known = {"kty": "EC", "kid": self.kid, "crv": _NAMES[self.key.curve.name], "alg": self.algorithm}
        return {"use": "sig", **known, "x": _number(point.x, length), "y": _number(point.y, length)}


class SigningKey(msgspec.Struct, frozen=True, eq=False):
    """A private key with its public half."""

    key: PrivateKey
    public: VerifyingKey

    @classmethod
    def of(cls, key: PrivateKey) -> SigningKey:
        """Derive the public half of a key. Raises ValueError as `VerifyingKey.of` does."""
        return cls(key, VerifyingKey.of(key.public_key()))


class TokenKeys:
    """The signing keys, and all keys that verify tokens: each once, the signing ones first.

    `in_secrets` signs the tokens kept in Secrets (default: `signing`).
    """

    def __init__(
        self, signing: SigningKey, others: Iterable[VerifyingKey] = (), in_secrets: SigningKey | None = None
    ) -> None:
        self.signing = signing
        self.in_secrets = in_secrets or signing
        self.verifying: Sequence[VerifyingKey] = tuple(
            {each.kid: each for each in (signing.public, self.in_secrets.public, *others)}.values()
        )

    def candidates(self, kid: str) -> Sequence[VerifyingKey]:
        """Return the keys to verify a token with: the one with its `kid`, or all if the `kid` is unknown."""
        named = [each for each in self.verifying if each.kid == kid]
        return named or self.verifying

    @classmethod
    def fresh(cls) -> TokenKeys:
        """Generate a key pair that is not stored: for a server without files."""
        return cls(SigningKey.of(ec.generate_private_key(ec.SECP256R1())))


def read_signing_key(flag: str, path: Path) -> SigningKey:
    """Return the private key of a PEM file. Raises ConfigError naming flag and file."""
    try:
        key = serialization.load_pem_private_key(_read(flag, path), password=None)
        if isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
            return SigningKey.of(key)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ConfigError(f"--{flag}: {path}: holds no private key that can be used: {error}") from error
    raise ConfigError(f"--{flag}: {path}: holds neither an RSA nor an elliptic-curve private key")


def read_verifying_keys(flag: str, path: Path) -> Sequence[VerifyingKey]:
    """Return the public halves of all keys in a PEM file: public keys, private keys and certificates.

    Raises ConfigError naming flag and file.
    """
    try:
        found = tuple(_public_keys(_read(flag, path)))
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ConfigError(f"--{flag}: {path}: holds a key that cannot be used: {error}") from error
    if not found:
        raise ConfigError(f"--{flag}: {path}: data does not contain any valid RSA or ECDSA public keys")
    return found


def encoded(data: bytes) -> str:
    """Encode as base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _read(flag: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"--{flag}: {path}: {error.strerror}") from error


def _public_keys(pem: bytes) -> Iterator[VerifyingKey]:
    for block in _BLOCK.finditer(pem):
        text, kind = block.group(), block.group(1)
        if kind.endswith(b"PRIVATE KEY"):
            key: object = serialization.load_pem_private_key(text, password=None).public_key()
        elif kind.endswith(b"PUBLIC KEY"):
            key = serialization.load_pem_public_key(text)
        elif kind == b"CERTIFICATE":
            key = load_pem_x509_certificate(text).public_key()
        else:
            continue
        if not isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey):
            raise ValueError("neither RSA nor an elliptic curve")
        yield VerifyingKey.of(key)


def _algorithm(key: PublicKey) -> str:
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < MIN_RSA_BITS:
            raise ValueError(f"an RSA key of {key.key_size} bits is too short, {MIN_RSA_BITS} are needed")
        return "RS256"
    if key.curve.name not in _CURVES:
        raise ValueError(f"curve {key.curve.name} is not used for tokens")
    return _CURVES[key.curve.name]


def _number(value: int, length: int = 0) -> str:
    return encoded(value.to_bytes(length or -(-value.bit_length() // 8), "big"))

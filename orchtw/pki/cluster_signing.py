"""CAs of the built-in certificate signers, from the `--cluster-signing` flags (reference CSR-15)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from orchtw.config.signing import SigningOptions
from orchtw.errors import ConfigError
from orchtw.pki import certificates, files
from orchtw.pki.issuing import SigningAuthority

CLIENT: Final = "orch.io/orch-apiserver-client"
NODE_CLIENT: Final = "orch.io/orch-apiserver-client-orchlet"
NODE_SERVING: Final = "orch.io/orchlet-serving"
LEGACY: Final = "orch.io/legacy-unknown"

_FLAGS: Final[Mapping[str, str]] = {
    CLIENT: "cluster-signing-orch-apiserver-client",
    NODE_CLIENT: "cluster-signing-orchlet-client",
    NODE_SERVING: "cluster-signing-orchlet-serving",
    LEGACY: "cluster-signing-legacy-unknown",
}
_COMMON: Final = "cluster-signing"
_PREFIX: Final = f"{_COMMON}-"
_KINDS: Final = (
    rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey, ed25519.Ed25519PrivateKey, ed448.Ed448PrivateKey, dsa.DSAPrivateKey
)


class ClusterSigning:
    """CAs by the signers' neutral names; `read` reloads the files.

    `own` is the CA without any flag; None: nothing is signed then.
    """

    def __init__(self, options: SigningOptions, own: SigningAuthority | None = None) -> None:
        self._options = options
        self._own = own
        self._found: Mapping[str, SigningAuthority] = {}
        self.read()

    @property
    def files(self) -> tuple[Path, ...]:
        """Return the files to reload."""
        pairs = (_pair(self._options, name) for name in (_COMMON, *_FLAGS.values()))
        return tuple(path for pair in pairs if pair is not None for path in pair)

    def read(self) -> None:
        """Load the files. Raises ConfigError, changing nothing, if one is unusable."""
        given = {signer: _authority(self._options, name) for signer, name in _FLAGS.items()}
        if not any(given.values()):
            given = dict.fromkeys(_FLAGS, _authority(self._options, _COMMON) or self._own)
        self._found = {signer: authority for signer, authority in given.items() if authority is not None}

    def authority(self, signer: str) -> SigningAuthority | None:
        """Return the CA of a signer by its neutral name, or None."""
        return self._found.get(signer)


def _pair(options: SigningOptions, name: str) -> tuple[Path, Path] | None:
    certificate, key = (
        getattr(options, f"{name}-{part}-file".removeprefix(_PREFIX).replace("-", "_")) for part in ("cert", "key")
    )
    return None if certificate is None or key is None else (certificate, key)


def _authority(options: SigningOptions, name: str) -> SigningAuthority | None:
    """Load the CA of a pair of flags, or None if they are not given. Raises ConfigError."""
    pair = _pair(options, name)
    if pair is None:
        return None
    certificate = files.of_flag(f"{name}-cert-file", files.read_certificates, pair[0])[0]
    key: PrivateKeyTypes = files.of_flag(f"{name}-key-file", files.read_key, pair[1])
    if not isinstance(key, _KINDS):
        raise ConfigError(f"--{name}-key-file: {pair[1]}: is of a type that cannot sign certificates")
    if not certificates.matches(certificate, key):
        raise ConfigError(f"--{name}-key-file: {pair[1]}: is not the key of {pair[0]}")
    return SigningAuthority(certificate, key)

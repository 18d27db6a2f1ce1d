"""Keys shared by the servers of one cluster, encrypted with its join secret (CTRL-54).

The AES-256-GCM key is derived from the secret by scrypt, so only those who know the secret can read or forge the
keys. The parameters of scrypt are fixed here, not taken from the encrypted data.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from twisted.logger import Logger

from orchtw.errors import ConfigError
from orchtw.pki import files

FLAG: Final = "join-secret-file"
LEAST_BYTES: Final = 16
MOST_BYTES: Final = 64 << 10
MOST_SEALED_BYTES: Final = 256 << 10

NAMES: Final = frozenset(
    f"{name}.{kind}" for name in ("ca", "front-proxy-ca", "front-proxy-client") for kind in ("crt", "key")
) | {"sa.key"}
"""Files of the folder `pki` that are shared; each server generates the others itself."""

_MARK: Final = b"orchtw-keys:v1:"
_SALT_BYTES: Final = 16
_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32
_COST, _BLOCK, _LANES = 1 << 15, 8, 1
"""Parameters of scrypt: 32 MiB and some 100 ms per derivation."""

_log = Logger()


class WrongSecret(Exception):
    """Error: the keys were encrypted with another secret, or are malformed."""


def join_secret(path: Path | None, data_dir: Path) -> bytes | None:
    """Read the file of `--join-secret-file`, without surrounding white space; None without the flag.

    Raises ConfigError if the file cannot be read, is too short or too long, or is in the data folder with permissions
    for others. Elsewhere permissions are up to the operator; a world-readable file is logged.
    """
    if path is None:
        return None
    if path.absolute().is_relative_to(data_dir.absolute()):
        files.check_private(path)
    secret = files.of_flag(FLAG, files.read, path).strip()
    if not LEAST_BYTES <= len(secret) <= MOST_BYTES:
        raise ConfigError(f"--{FLAG}: {path}: must hold {LEAST_BYTES} to {MOST_BYTES} bytes, it holds {len(secret)}")
    if path.stat().st_mode & stat.S_IROTH:
        _log.warn("--{flag}: {path}: every user on this machine can read the secret", flag=FLAG, path=str(path))
    return secret


def seal(secret: bytes, keys: Mapping[str, bytes]) -> bytes:
    """Encrypt the files, given by name. Blocks for a tenth of a second."""
    salt, nonce = os.urandom(_SALT_BYTES), os.urandom(_NONCE_BYTES)
    plain = orjson.dumps({name: content.decode() for name, content in keys.items()})
    return b"".join((_MARK, salt, nonce, AESGCM(_key(secret, salt)).encrypt(nonce, plain, _MARK + salt)))


def unseal(secret: bytes, sealed: bytes) -> dict[str, bytes]:
    """Decrypt the files; returns them by name. Blocks for a tenth of a second. Raises WrongSecret."""
    head = len(_MARK) + _SALT_BYTES
    if not sealed.startswith(_MARK) or not head + _NONCE_BYTES < len(sealed) <= MOST_SEALED_BYTES:
        raise WrongSecret
    salt, nonce = sealed[len(_MARK) : head], sealed[head : head + _NONCE_BYTES]
    try:
        plain = AESGCM(_key(secret, salt)).decrypt(nonce, sealed[head + _NONCE_BYTES :], _MARK + salt)
        found = {str(name): str(content).encode() for name, content in orjson.loads(plain).items()}
    except (InvalidTag, ValueError, AttributeError):
        raise WrongSecret from None
    if found.keys() != NAMES:
        raise WrongSecret
    return found


def read_keys(folder: Path) -> dict[str, bytes]:
    """Read the shared files by name. Raises ConfigError."""
    return {name: files.read_own(folder / name) for name in sorted(NAMES)}


def _key(secret: bytes, salt: bytes) -> bytes:
    return Scrypt(salt=salt, length=_KEY_BYTES, n=_COST, r=_BLOCK, p=_LANES).derive(secret)

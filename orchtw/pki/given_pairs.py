"""Certificate and key files of the operator, which may be replaced while the server runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from orchtw.errors import ConfigError
from orchtw.pki import certificates, files

T = TypeVar("T")
Chain = tuple[x509.Certificate, ...]


class GivenPair(msgspec.Struct, frozen=True, kw_only=True):
    """Certificate and key files of the operator; `flags`, if not empty, name them in errors.

    Location, links and permissions are up to the operator, except that a key below `private`, the data folder, must
    be accessible to its owner only.
    """

    certificate: Path
    key: Path
    private: Path
    flags: tuple[str, str] = ("", "")

    @property
    def paths(self) -> tuple[Path, Path]:
        """Return the certificate file and the key file."""
        return self.certificate, self.key

    def read(self) -> tuple[Chain, PrivateKeyTypes]:
        """Read the chain, leaf certificate first, and the key. Raises ConfigError."""
        chain = _of_flag(self.flags[0], files.read_certificates, self.certificate)
        if self.key.absolute().is_relative_to(self.private.absolute()):
            files.check_private(self.key)
        key = _of_flag(self.flags[1], files.read_key, self.key)
        if not certificates.matches(chain[0], key):
            raise ConfigError(f"{self.key}: is not the key of {self.certificate}")
        return chain, key


def _of_flag(flag: str, read: Callable[[Path], T], path: Path) -> T:
    return files.of_flag(flag, read, path) if flag else read(path)

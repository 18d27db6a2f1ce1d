"""Certificates with their keys that the operator names, and may replace while the server runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import attrs
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from orchtw.errors import ConfigError
from orchtw.pki import certificates, files

T = TypeVar("T")
Chain = tuple[x509.Certificate, ...]


@attrs.frozen(slots=True, kw_only=True)
class GivenPair:
    """The operator's own files of a certificate and its key; `flags` name them in problems, if not empty.

    Where they are is up to the operator, links and permissions included; but a key below `private`, the data folder,
    is for the owner only, as the others there are.
    """

    certificate: Path
    key: Path
    private: Path
    flags: tuple[str, str] = ("", "")

    @property
    def paths(self) -> tuple[Path, Path]:
        """Return certificate file and key file."""
        return self.certificate, self.key

    def read(self) -> tuple[Chain, PrivateKeyTypes]:
        """Read the chain, the server's own certificate first, and the key. Raises ConfigError."""
        chain = _of_flag(self.flags[0], files.read_certificates, self.certificate)
        if self.key.absolute().is_relative_to(self.private.absolute()):
            files.check_private(self.key)
        key = _of_flag(self.flags[1], files.read_key, self.key)
        if not certificates.matches(chain[0], key):
            raise ConfigError(f"{self.key}: is not the key of {self.certificate}")
        return chain, key


def _of_flag(flag: str, read: Callable[[Path], T], path: Path) -> T:
    return files.of_flag(flag, read, path) if flag else read(path)

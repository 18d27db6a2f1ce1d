"""Reading and writing the files of a data folder; every failure is a ConfigError that names the file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from orchtw.errors import ConfigError

PRIVATE_FILE, PUBLIC_FILE, PRIVATE_FOLDER = 0o600, 0o644, 0o700


def read(path: Path) -> bytes:
    """The file's content. Raises ConfigError when it is missing or unreadable."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def read_certificates(path: Path) -> tuple[x509.Certificate, ...]:
    """The certificates of a PEM file, one at least. Raises ConfigError."""
    try:
        return tuple(x509.load_pem_x509_certificates(read(path)))
    except (ValueError, x509.InvalidVersion) as error:
        raise ConfigError(f"{path}: holds no readable PEM certificate") from error


def read_key(path: Path) -> PrivateKeyTypes:
    """The unencrypted private key of a PEM file. Raises ConfigError."""
    try:
        return serialization.load_pem_private_key(read(path), password=None)
    except UnsupportedAlgorithm as error:
        raise ConfigError(f"{path}: holds a private key of a kind that is not supported: {error}") from error
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{path}: holds no readable, unencrypted PEM private key") from error


def make_folder(path: Path) -> None:
    """Make the folder, 0700, and those above it; one that is there is left as it is. Raises ConfigError."""
    try:
        path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def write_folder(path: Path, contents: dict[str, tuple[bytes, int]]) -> None:
    """Make the folder with all its files (content and mode by name) appear at once: complete or not at all.

    An empty folder at `path` is replaced. Raises ConfigError.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
            fresh = Path(folder) / path.name
            fresh.mkdir(PRIVATE_FOLDER)
            for name, (content, mode) in contents.items():
                _write(fresh / name, content, mode)
            _sync_folder(fresh)
            fresh.rename(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def replace(path: Path, content: bytes, mode: int) -> None:
    """Replace or make one file: readers see the old content or the new, even after a crash. Raises ConfigError."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.unlink(missing_ok=True)
        _write(fresh, content, mode)
        fresh.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def _write(path: Path, content: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
